// quarry spool status|list|export|replay|purge: works on the files of a disk queue, whether a
// process uses them or not. For streams, see spool_stream.cc.
#include <fmt/core.h>

#include <nlohmann/json.hpp>
#include <string>

#include "common/exit_codes.h"
#include "common/report.h"
#include "quarry/base/escape.h"
#include "quarry/spool/spool.h"
#include "spool_commands.h"
#include "spool_stream.h"
#include "spool_text.h"

namespace quarry::app {
namespace {

using base::Result;
using spool::Message;

nlohmann::json json_of(std::uint64_t number, const Message& message) {
  nlohmann::json line = {{"number", number}, {"severity", message.severity}};
  add_bytes(line, message.content);
  return line;
}

Result<void> status(const SpoolArguments& arguments) {
  QUARRY_TRY_ASSIGN(const auto status, spool::spool_status(spool_of(arguments)));
  if (arguments.as_json) {
    fmt::print("{}\n", nlohmann::json{{"messages", status.messages},
                                      {"bytes", status.bytes},
                                      {"segments", status.segments},
                                      {"damaged", status.damaged},
                                      {"writer", status.has_writer},
                                      {"reader", status.has_reader}}
                           .dump());
    return {};
  }
  fmt::print("messages:  {}\nbytes:     {}\nsegments:  {}\n", status.messages, status.bytes,
             status.segments);
  fmt::print("in use by: {}\n", status.has_writer && status.has_reader ? "who enqueues and delivers"
                                : status.has_writer                    ? "who enqueues"
                                : status.has_reader                    ? "who delivers"
                                                                       : "nobody");
  for (const std::string& name : status.damaged) fmt::print("set aside: {}\n", name);
  return {};
}

/// Prints each message as SHOW formats it, until the reader has gone.
template <typename Show>
Result<void> show_all(const SpoolArguments& arguments, Show&& show) {
  QUARRY_TRY(spool::visit_spool(
      spool_of(arguments),
      [&](std::uint64_t number, const Message& message) { return print(show(number, message)); },
      report));
  return {};
}

Result<void> list(const SpoolArguments& arguments) {
  return show_all(arguments, [](std::uint64_t number, const Message& message) {
    return fmt::format("{:>8} {} {:>8} {}\n", number, message.severity, message.content.size(),
                       base::printable(message.content, kShownContent));
  });
}

Result<void> export_all(const SpoolArguments& arguments) {
  const char end = arguments.is_null ? '\0' : '\n';
  return show_all(arguments, [&](std::uint64_t number, const Message& message) {
    if (arguments.as_json) return json_of(number, message).dump() + "\n";
    return message.content + end;
  });
}

Result<void> replay(const SpoolArguments& arguments) {
  QUARRY_TRY_ASSIGN(const std::uint64_t count, spool::replay_spool(spool_of(arguments), report));
  fmt::print("{} messages are in the queue again\n", count);
  return {};
}

Result<void> purge(const SpoolArguments& arguments) {
  QUARRY_TRY_ASSIGN(const std::uint64_t count, spool::purge_spool(spool_of(arguments), report));
  fmt::print("{} messages were removed\n", count);
  return {};
}

using SpoolAction = Result<void> (*)(const SpoolArguments&);
/// Calls the function for a queue or for a stream, depending on the files.
Result<void> by_kind(const SpoolArguments& arguments, SpoolAction on_queue, SpoolAction on_stream) {
  QUARRY_TRY_ASSIGN(const bool is_stream, spool::is_stream(spool_of(arguments)));
  if (is_stream) return on_stream(arguments);
  if (arguments.dead.empty()) return on_queue(arguments);
  return base::fail(base::ErrorCode::kInvalid,
                    fmt::format("{}: there is no stream {}, which would have dead letters",
                                arguments.folder, arguments.filename));
}

}  // namespace

int run_spool_status(const SpoolArguments& arguments) {
  return exit_code_of(by_kind(arguments, status, show_stream_status));
}
int run_spool_list(const SpoolArguments& arguments) {
  return exit_code_of(by_kind(arguments, list, list_stream));
}
int run_spool_export(const SpoolArguments& arguments) {
  return exit_code_of(by_kind(arguments, export_all, export_stream));
}
int run_spool_replay(const SpoolArguments& arguments) {
  return exit_code_of(by_kind(arguments, replay, replay_stream));
}
int run_spool_purge(const SpoolArguments& arguments) {
  return exit_code_of(by_kind(arguments, purge, purge_stream));
}

}  // namespace quarry::app
