// Log lines in the queue of a log courier. A message of the queue is
//
//   MICROSECONDS LOG LINE
//
// with the time at which the courier has read the line, and the name of its log.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "quarry/spool/message.h"

namespace quarry::courier {

struct LogLine {
  std::int64_t micros = 0;  // since 1970
  std::string_view log;
  std::uint8_t severity = spool::kInformational;
  std::string_view text;

  /// Returns the part of `log` after "access.", or "" for the error log.
  std::string_view pool() const;
};

spool::Message message_of(std::int64_t micros, std::string_view log, std::string_view text);
/// Returns the line in MESSAGE, which must outlive the result. Returns nullopt if MESSAGE does not
/// contain a line.
std::optional<LogLine> line_in(const spool::Message& message);

/// Returns the syslog severity of TEXT, a line of the error log in either format.
std::uint8_t severity_of(std::string_view text);
/// Returns TEXT without "[TIME] LEVEL: ", which the receiver gets as separate values.
std::string_view without_head(std::string_view text);
std::string_view level_named(std::uint8_t severity);

}  // namespace quarry::courier
