// access.format: the format of a pool's access log.
//
//   %C %{user}C %{system}C %{total}C      share of a processor, in percent
//   %d %{seconds}d %{milli}d %{micro}d    time that the request took (also milliseconds,
//                                         microseconds)
//   %{NAME}e                              a variable of the request, or of the environment
//   %f                                    the repository's file
//   %l %m %r %Q %q                        content length, method, path, "?" before a query, query
//   %M %{bytes}M %{kilo}M %{mega}M        peak of the worker's memory (also kilobytes, megabytes)
//   %n %p %P                              pool, process, its parent
//   %{NAME}o                              a header of the reply
//   %R %s %u %x                           client's address, status, user, operation
//   %t %T %{FORMAT}t %{FORMAT}T           when the request came, when the line is written:
//                                         strftime(3)
//   %%                                    %
//
// These are PHP-FPM's placeholders, plus %x. The format "json" is one JSON object with all of them.
// A format is compiled when the configuration is read and rendered by the workers. Text from clients
// is escaped, including quotation marks, so that each request is one line. Empty values are "-",
// except for %q and %Q.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "quarry/base/result.h"

namespace quarry::base {

/// A finished request. Times are microseconds.
struct AccessRecord {
  std::string_view pool{};
  pid_t pid = 0;
  pid_t parent = 0;
  std::int64_t received = 0;  // since 1970
  std::int64_t written = 0;
  std::int64_t duration = 0;
  std::int64_t cpu_user = 0;
  std::int64_t cpu_system = 0;
  std::uint64_t memory_peak = 0;  // bytes
  std::string_view remote_address{};
  std::string_view user{};
  std::string_view method{};
  std::string_view path{};
  std::string_view query{};
  std::uint64_t content_length = 0;
  int status = 0;
  std::uint64_t reply_size = 0;  // of the body
  std::string_view repository{};
  std::string_view operation{};
  std::string_view reply_header{};         // lines "Name: value\r\n"
  const char* const* variables = nullptr;  // "NAME=value" each, then a null pointer
};

/// A part of a compiled format.
struct AccessPiece {
  char letter = 0;     // of the placeholder; 0: literal text
  char modifier = 0;   // the word in braces, for %C, %d and %M
  std::string text{};  // literal text, or the name or time format in braces
};

class AccessFormat {
 public:
  /// Renders empty lines.
  AccessFormat() = default;
  /// PHP-FPM's default: %R - %u %t "%m %r" %s
  static AccessFormat usual();
  /// Errors: kInvalid (unknown or malformed placeholder).
  static Result<AccessFormat> compile(std::string_view text);

  /// The source of the format.
  const std::string& text() const { return text_; }
  /// Appends the line to OUT, including the newline.
  void render(const AccessRecord& record, std::string& out) const;
  /// Whether render() needs the CPU times and the memory, which cost a system call.
  bool wants_usage() const { return wants_usage_; }
  /// Whether render() needs the reply's header.
  bool wants_reply_header() const { return wants_reply_header_; }

 private:
  void add(AccessPiece piece);

  std::string text_;
  std::vector<AccessPiece> pieces_;
  bool is_json_ = false;
  bool wants_usage_ = false;
  bool wants_reply_header_ = false;
};

}  // namespace quarry::base
