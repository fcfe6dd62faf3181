#include <fmt/core.h>

#include <algorithm>

#include "quarry/spool/message.h"
#include "spool_commands.h"

namespace quarry::app {
namespace {

using spool::QueueOptions;
using spool::QueueType;

bool is_given(const SpoolArguments& arguments, std::string_view parameter) {
  return std::ranges::any_of(arguments.parameters,
                             [parameter](const auto& given) { return given.first == parameter; });
}

/// Returns the defaults for the queue of a feed or drain.
QueueOptions defaults(QueueType type) {
  QueueOptions options;
  options.type = type;
  if (type == QueueType::kDisk) options.size = spool::kAnySize;
  // Let the feed wait only when the queue is full. The feed is the only producer, and its input is
  // a pipe, which can wait.
  options.full_delay_mark = options.size;
  // By default, wait without a time limit, so that lines from a pipe are never discarded.
  options.timeout_enqueue = spool::kEternal;
  options.timeout_shutdown = spool::kEternal;
  options.save_on_shutdown = true;
  options.checkpoint_interval = 1;
  options.dequeue_batch_size = 1000;
  return options;
}

/// Returns the type of the queue. By default, a queue with a watermark is in memory, because
/// watermarks have no effect on a disk. Any other queue is on the disk, so that each line is stored
/// as soon as it is read.
Result<QueueType> type_of(const SpoolArguments& arguments) {
  QueueOptions options;
  const bool has_marks =
      is_given(arguments, "highwatermark") || is_given(arguments, "lowwatermark");
  options.type = has_marks ? QueueType::kMemory : QueueType::kDisk;
  for (const auto& [name, value] : arguments.parameters) {
    if (name == "type") QUARRY_TRY(spool::set_parameter(options, name, value));
  }
  if (options.type != QueueType::kDirect) return options.type;
  return fail(ErrorCode::kInvalid, "queue.type = direct: must be disk or memory");
}

/// Rejects parameters without effect.
Result<void> check_use(const SpoolArguments& arguments, const QueueOptions& options) {
  if (options.type != QueueType::kDisk) return {};
  for (const char* name : {"highwatermark", "lowwatermark"}) {
    if (!is_given(arguments, name)) continue;
    return fail(ErrorCode::kInvalid, "queue.{} requires queue.type = memory", name);
  }
  const bool is_choosy = options.discard_severity <= spool::kLeastSevere;
  if (!is_choosy || options.size != spool::kAnySize || options.discard_mark) return {};
  return fail(
      ErrorCode::kInvalid,
      "with queue.type = disk, queue.discardseverity requires queue.discardmark or queue.size");
}

std::string default_of(std::string_view parameter) {
  if (parameter == "type") return "memory if a watermark is given, otherwise disk";
  const std::string disk = spool::value_of(defaults(QueueType::kDisk), parameter);
  const std::string memory = spool::value_of(defaults(QueueType::kMemory), parameter);
  return disk == memory ? disk : fmt::format("{} on disk, {} in memory", disk, memory);
}

}  // namespace

SpoolHelp spool_help(std::string_view parameter) {
  const auto all = spool::parameters();
  const auto found = std::ranges::find(all, parameter, &spool::Parameter::name);
  SpoolHelp help{.value = std::string(found->value),
                 .description = std::string(found->description)};
  if (parameter == "type") help.value = "disk|memory";
  help.description += fmt::format(" (default: {})", default_of(parameter));
  return help;
}

Result<QueueOptions> options_of(const SpoolArguments& arguments) {
  QUARRY_TRY_ASSIGN(const QueueType type, type_of(arguments));
  QueueOptions options = defaults(type);
  options.spool_directory = arguments.folder;
  options.filename = arguments.filename.empty() ? kDefaultFilename : arguments.filename;
  for (const auto& [name, value] : arguments.parameters) {
    QUARRY_TRY(spool::set_parameter(options, name, value));
  }
  if (!is_given(arguments, "fulldelaymark")) options.full_delay_mark = options.size;
  QUARRY_TRY(check_use(arguments, options));
  return options;
}

}  // namespace quarry::app
