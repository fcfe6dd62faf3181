// quarry spool status|list|export|replay|purge: the files of a disk queue, whether a process uses
// them or not.
#include <fmt/core.h>
#include <openssl/evp.h>

#include <cstdio>
#include <nlohmann/json.hpp>
#include <string>

#include "commands.h"
#include "quarry/base/escape.h"
#include "quarry/spool/spool.h"

namespace quarry::app {
namespace {

using base::Result;
using spool::Message;

// Of a message's content in a list.
constexpr std::size_t kShown = 80;

void report(const std::string& line) {
  fmt::print(stderr, "quarry: {}\n", line);
}

spool::SpoolPlace place_of(const SpoolArguments& arguments) {
  return {arguments.folder, arguments.filename};
}

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

nlohmann::json json_of(std::uint64_t number, const Message& message) {
  nlohmann::json line = {{"number", number}, {"severity", message.severity}};
  if (is_utf8(message.content)) {
    line["content"] = message.content;
  } else {
    line["base64"] = base64(message.content);
  }
  return line;
}

Result<void> status(const SpoolArguments& arguments) {
  QUARRY_TRY_ASSIGN(const auto status, spool::spool_status(place_of(arguments)));
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

/// Shows each message as SHOW prints it; false from that: nobody reads.
template <typename Show>
Result<void> show_all(const SpoolArguments& arguments, Show&& show) {
  bool is_read = true;
  QUARRY_TRY(spool::visit_spool(
      place_of(arguments),
      [&](std::uint64_t number, const Message& message) {
        const std::string text = show(number, message);
        is_read = std::fwrite(text.data(), 1, text.size(), stdout) == text.size();
        return is_read;
      },
      report));
  return {};
}

Result<void> list(const SpoolArguments& arguments) {
  return show_all(arguments, [](std::uint64_t number, const Message& message) {
    return fmt::format("{:>8} {} {:>8} {}\n", number, message.severity, message.content.size(),
                       base::printable(message.content, kShown));
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
  QUARRY_TRY_ASSIGN(const std::uint64_t count, spool::replay_spool(place_of(arguments), report));
  fmt::print("{} messages are in the queue again\n", count);
  return {};
}

Result<void> purge(const SpoolArguments& arguments) {
  QUARRY_TRY_ASSIGN(const std::uint64_t count, spool::purge_spool(place_of(arguments), report));
  fmt::print("{} messages were removed\n", count);
  return {};
}

int code_of(const Result<void>& done) {
  if (!done) return failed(done.error());
  const bool is_written = std::fflush(stdout) == 0 && std::ferror(stdout) == 0;
  return is_written ? kDone : failed(base::fail_errno("standard output").error());
}

}  // namespace

int run_spool_status(const SpoolArguments& arguments) {
  return code_of(status(arguments));
}
int run_spool_list(const SpoolArguments& arguments) {
  return code_of(list(arguments));
}
int run_spool_export(const SpoolArguments& arguments) {
  return code_of(export_all(arguments));
}
int run_spool_replay(const SpoolArguments& arguments) {
  return code_of(replay(arguments));
}
int run_spool_purge(const SpoolArguments& arguments) {
  return code_of(purge(arguments));
}

}  // namespace quarry::app
