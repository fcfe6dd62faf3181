// quarry spool status|list|export|replay|purge: works on the files of a disk queue or of a stream.
// Another process can use the files at the same time.
#include <fmt/ranges.h>
#include <openssl/evp.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <system_error>
#include <vector>

#include "common/owner.h"
#include "common/report.h"
#include "common/table.h"
#include "quarry/base/escape.h"
#include "quarry/base/time.h"
#include "quarry/spool/spool.h"
#include "quarry/spool/stream.h"
#include "spool_commands.h"

namespace quarry::app {
namespace {

using spool::StreamedMessage;
using spool::SubscriptionStatistics;

/// Maximum length of a message's content in a list.
constexpr std::size_t kShownContent = 80;

spool::SpoolLocation spool_of(const SpoolArguments& arguments) {
  return {arguments.folder, arguments.filename};
}

/// Returns GIVEN with a filename. The default is kDefaultFilename, or the name of the only stream in
/// the folder if the folder does not contain a queue with that name. Errors: kInvalid (several
/// streams).
Result<SpoolArguments> with_filename(const SpoolArguments& given) {
  SpoolArguments arguments = given;
  if (!arguments.filename.empty()) return arguments;
  arguments.filename = kDefaultFilename;
  std::vector<std::string> streams;
  std::error_code missing;  // ignored, because the command reports this error later
  for (const auto& entry : std::filesystem::directory_iterator(arguments.folder, missing)) {
    const std::string name = entry.path().filename();
    if (name.starts_with(arguments.filename + ".")) return arguments;
    // Skip names with a dot: these streams contain dead letters or kept messages.
    const std::string stem = entry.path().stem();
    if (name == stem + ".stream" && stem.find('.') == std::string::npos) streams.push_back(stem);
  }
  if (streams.size() > 1) {
    return fail(ErrorCode::kInvalid, "{} contains several streams ({}): choose one with --filename",
                arguments.folder, fmt::join(streams, ", "));
  }
  if (!streams.empty()) arguments.filename = streams.front();
  return arguments;
}

/// Returns whether ARGUMENTS refer to a stream. Errors: kInvalid if they refer to dead letters, but
/// not to a stream.
Result<bool> is_stream(const SpoolArguments& arguments) {
  QUARRY_TRY_ASSIGN(const bool is_one, spool::is_stream(spool_of(arguments)));
  if (is_one || arguments.dead.empty()) return is_one;
  return fail(ErrorCode::kInvalid, "{}: {} is not a stream, so it does not have dead letters",
              arguments.folder, arguments.filename);
}

// --- status -----------------------------------------------------------------------------------

nlohmann::json time_or_null(const std::optional<base::UnixMillis>& time) {
  return time ? nlohmann::json(base::iso_millis(*time)) : nlohmann::json();
}

nlohmann::json json_of(const SubscriptionStatistics& one) {
  return {{"name", one.name},
          {"waiting", one.waiting},
          {"in_flight", one.in_flight},
          {"postponed", one.postponed},
          {"oldest", time_or_null(one.oldest)},
          {"head_attempts", one.head_attempts},
          {"delivered", one.delivered},
          {"given_up", one.given_up},
          {"dead", one.dead},
          {"unreadable", one.unreadable},
          // The error can contain any bytes, but JSON must be valid UTF-8.
          {"last_error", base::printable_message(one.last_error)},
          {"last_error_at", time_or_null(one.last_error_at)}};
}

void print_subscriptions(const spool::StreamStatus& status) {
  Table table({"SUBSCRIPTION", ">WAITING", ">OLDEST", ">TRIES", ">DELIVERED", ">DEAD", ">AGO",
               "LAST ERROR"});
  for (const SubscriptionStatistics& one : status.subscriptions) {
    table.add({one.name, std::to_string(one.waiting), age(one.oldest),
               std::to_string(one.head_attempts), std::to_string(one.delivered),
               std::to_string(one.dead), age(one.last_error_at), one.last_error});
  }
  for (const std::string& line : table.lines()) fmt::print("{}\n", line);
}

/// Prints the common figures of queues and streams.
void print_size(const auto& status, const char* users) {
  fmt::print("messages:  {}\nbytes:     {}\nsegments:  {}\nin use by: {}\n", status.messages,
             status.bytes, status.segments, users);
}

Result<void> show_stream_status(const SpoolArguments& arguments) {
  QUARRY_TRY_ASSIGN(const auto status, spool::stream_status(spool_of(arguments)));
  if (!status.is_held) {
    // Read all messages to report unreadable ones, because stream_status() does not report them.
    const auto go_on = [](const StreamedMessage&) { return true; };
    QUARRY_TRY(spool::visit_stream(spool_of(arguments), "", go_on, report));
  }
  if (!arguments.as_json) {
    print_size(status, status.is_held ? "a delivering process" : "nobody");
    fmt::print("\n");
    print_subscriptions(status);
    return {};
  }
  nlohmann::json all = {{"messages", status.messages},
                        {"bytes", status.bytes},
                        {"segments", status.segments},
                        {"held", status.is_held},
                        {"subscriptions", nlohmann::json::array()}};
  for (const auto& one : status.subscriptions) all["subscriptions"].push_back(json_of(one));
  fmt::print("{}\n", all.dump());
  return {};
}

// --- messages ---------------------------------------------------------------------------------

bool is_utf8(std::string_view text) {
  while (!text.empty()) {
    const bool is_ascii = static_cast<unsigned char>(text.front()) < 0x80;
    const std::size_t length = is_ascii ? 1 : base::utf8_sequence(text);
    if (length == 0) return false;
    text.remove_prefix(length);
  }
  return true;
}

std::string base64(std::string_view bytes) {
  std::string text(4 * ((bytes.size() + 2) / 3) + 1, '\0');
  const int length = ::EVP_EncodeBlock(reinterpret_cast<unsigned char*>(text.data()),
                                       reinterpret_cast<const unsigned char*>(bytes.data()),
                                       static_cast<int>(bytes.size()));
  text.resize(static_cast<std::size_t>(length));
  return text;
}

/// Returns MESSAGE as JSON. If the message is from a queue, it has only a number, a severity and
/// content.
nlohmann::json json_of(const StreamedMessage& message, bool of_stream) {
  nlohmann::json line = {{"number", message.id}, {"severity", message.severity}};
  if (of_stream) line["taken_at"] = base::iso_millis(message.taken_at);
  if (of_stream) line["key"] = base::printable(message.key);
  if (message.attempts > 0) line["attempts"] = message.attempts;
  if (!message.error.empty()) line["error"] = base::printable_message(message.error);
  if (is_utf8(message.content)) {
    line["content"] = message.content;
  } else {
    line["base64"] = base64(message.content);
  }
  return line;
}

/// Prints the messages that ARGUMENTS select, formatted by FORMAT. Stops if the reader closes the
/// pipe.
template <typename Format>
Result<void> show_all(const SpoolArguments& arguments, Format&& format) {
  QUARRY_TRY_ASSIGN(const bool of_stream, is_stream(arguments));
  const auto show = [&](const StreamedMessage& message) {
    const std::string text = format(message, of_stream);
    return std::fwrite(text.data(), 1, text.size(), stdout) == text.size();
  };
  const spool::SpoolLocation location = spool_of(arguments);
  if (!arguments.dead.empty()) {
    return spool::visit_dead_letters(location, arguments.dead, show, report);
  }
  if (of_stream) return spool::visit_stream(location, "", show, report);
  const auto show_queued = [&](std::uint64_t number, const spool::Message& message) {
    return show({.id = number, .severity = message.severity, .content = message.content});
  };
  return spool::visit_spool(location, show_queued, report);
}

// --- replay and purge -------------------------------------------------------------------------

/// Calls ACTION with the subscription from --dead, which must exist.
template <typename Action>
Result<std::uint64_t> with_dead_letters(const SpoolArguments& arguments, Action&& action) {
  if (arguments.dead.empty()) {
    return fail(ErrorCode::kInvalid,
                "{}: only the dead letters of a stream can be replayed or purged "
                "(--dead)",
                arguments.folder);
  }
  QUARRY_TRY_ASSIGN(const auto stream,
                    spool::Stream::open({.location = spool_of(arguments)}, report));
  const auto all = stream->statistics();
  if (std::ranges::find(all, arguments.dead, &SubscriptionStatistics::name) == all.end()) {
    return fail(ErrorCode::kNotFound, "{}: subscription {} does not exist", arguments.folder,
                arguments.dead);
  }
  QUARRY_TRY_ASSIGN(const auto subscription, stream->subscribe(arguments.dead));
  return action(*subscription);
}

}  // namespace

Result<void> run_spool_status(const SpoolArguments& given) {
  QUARRY_TRY_ASSIGN(const auto arguments, with_filename(given));
  QUARRY_TRY_ASSIGN(const bool of_stream, is_stream(arguments));
  if (of_stream) return show_stream_status(arguments);
  QUARRY_TRY_ASSIGN(const auto status, spool::spool_status(spool_of(arguments), report));
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
  print_size(status, status.has_writer && status.has_reader ? "a writer and a reader"
                     : status.has_writer                    ? "a writer"
                     : status.has_reader                    ? "a reader"
                                                            : "nobody");
  for (const std::string& name : status.damaged) fmt::print("set aside: {}\n", name);
  return {};
}

Result<void> run_spool_list(const SpoolArguments& given) {
  QUARRY_TRY_ASSIGN(const auto arguments, with_filename(given));
  return show_all(arguments, [&](const StreamedMessage& message, bool /*of_stream*/) {
    std::string why;
    if (!arguments.dead.empty()) {
      why = fmt::format("{} tries: {}: ", message.attempts, base::printable_message(message.error));
    }
    return fmt::format("{:>8} {} {:>8} {}{}\n", message.id, message.severity,
                       message.content.size(), why,
                       base::printable(message.content, kShownContent));
  });
}

Result<void> run_spool_export(const SpoolArguments& given) {
  QUARRY_TRY_ASSIGN(const auto arguments, with_filename(given));
  const char end = arguments.is_null ? '\0' : '\n';
  return show_all(arguments, [&](const StreamedMessage& message, bool of_stream) {
    if (arguments.as_json) return json_of(message, of_stream).dump() + "\n";
    return message.content + end;
  });
}

Result<void> run_spool_replay(const SpoolArguments& given) {
  QUARRY_TRY(act_as_owner_of(given.folder));
  QUARRY_TRY_ASSIGN(const auto arguments, with_filename(given));
  QUARRY_TRY_ASSIGN(const bool of_stream, is_stream(arguments));
  const auto again = [](spool::Subscription& one) { return one.replay_dead(); };
  QUARRY_TRY_ASSIGN(const std::uint64_t count,
                    of_stream ? with_dead_letters(arguments, again)
                              : spool::replay_spool(spool_of(arguments), report));
  fmt::print("{} messages were returned to {}\n", count,
             of_stream ? "subscription " + arguments.dead : "the queue");
  return {};
}

Result<void> run_spool_purge(const SpoolArguments& given) {
  QUARRY_TRY(act_as_owner_of(given.folder));
  QUARRY_TRY_ASSIGN(const auto arguments, with_filename(given));
  QUARRY_TRY_ASSIGN(const bool of_stream, is_stream(arguments));
  const auto removal = [](spool::Subscription& one) { return one.purge_dead(); };
  QUARRY_TRY_ASSIGN(const std::uint64_t count,
                    of_stream ? with_dead_letters(arguments, removal)
                              : spool::purge_spool(spool_of(arguments), report));
  fmt::print("{} messages were removed\n", count);
  return {};
}

}  // namespace quarry::app
