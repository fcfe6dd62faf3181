// The format of a pool's access log. The directive access.format sets the format.
//
//   %C %{user}C %{system}C %{total}C      share of a processor, in percent
//   %d %{seconds}d %{milli}d %{micro}d    time that the request took (also milliseconds,
//                                         microseconds)
//   %{NAME}e                              a variable of the request, or of the environment
//   %f                                    the repository's file
//   %L                                    the id of the request
//   %l %m %r %Q %q                        content length, method, path, "?" before a query, query
//   %M %{bytes}M %{kilo}M %{mega}M        peak of the worker's memory (also kilobytes, megabytes)
//   %n %p %P                              pool, process, its parent
//   %{NAME}o                              a header of the reply
//   %R %s %u %x                           client's address, status, user, operation
//   %t %{FORMAT}t                         time when the request arrived; FORMAT as for strftime(3)
//   %T %{FORMAT}T                         time when the line is written, likewise
//   %%                                    %
//
// These are PHP-FPM's placeholders, plus %L and %x. The format "json" writes one JSON object with
// the values of all placeholders. The format is compiled when the configuration is read. Text from
// clients, including quotation marks, is escaped, so that each request takes exactly one line. An
// empty value is written as "-", except for %q and %Q.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "quarry/base/result.h"

namespace quarry::base {

/// The data of a finished request. Times and durations are in microseconds.
struct AccessRecord {
  std::string_view pool{};
  pid_t pid = 0;
  pid_t parent = 0;
  std::int64_t received = 0;  // since 1970
  std::int64_t written = 0;
  std::int64_t duration = 0;
  std::int64_t cpu_user = 0;
  std::int64_t cpu_system = 0;
  std::uint64_t memory_peak = 0;  // in bytes
  std::string_view remote_address{};
  std::string_view user{};
  std::string_view method{};
  std::string_view path{};
  std::string_view query{};
  std::uint64_t content_length = 0;
  int status = 0;
  std::uint64_t reply_size = 0;  // size of the body in bytes
  std::string_view repository{};
  std::string_view operation{};
  std::string_view request_id{};
  std::string_view reply_header{};         // lines of the form "Name: value\r\n"
  const char* const* variables = nullptr;  // "NAME=value" strings, then a null pointer
};

/// An element of a compiled format: a placeholder or literal text.
struct AccessPiece {
  char letter = 0;     // the placeholder's letter; 0 for literal text
  char modifier = 0;   // for %C, %d and %M: the word in braces
  std::string text{};  // literal text, or the name or time format in braces
};

class AccessFormat {
 public:
  /// Creates a format that renders empty lines.
  AccessFormat() = default;
  /// Returns PHP-FPM's default format: %R - %u %t "%m %r" %s
  static AccessFormat usual();
  /// Compiles TEXT. Errors: kInvalid (unknown or malformed placeholder).
  static Result<AccessFormat> compile(std::string_view text);

  /// Returns the text from which the format was compiled.
  const std::string& text() const { return text_; }
  /// Appends the line for RECORD, including the newline, to OUT.
  void render(const AccessRecord& record, std::string& out) const;
  /// Returns whether render() uses the CPU times or the memory. If not, the caller can omit the
  /// system call that reads them.
  bool wants_usage() const { return wants_usage_; }
  /// Returns whether render() uses the reply's header.
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
