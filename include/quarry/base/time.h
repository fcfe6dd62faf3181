// Clocks, and Fossil's representation of time: Julian day numbers as doubles. Repositories store
// all times in this form.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace quarry::base {

/// Milliseconds since 1970-01-01T00:00:00Z.
struct UnixMillis {
  std::int64_t value = 0;
  friend auto operator<=>(const UnixMillis&, const UnixMillis&) = default;
};

/// A source of the current time. Tests use a fixed time.
class Clock {
 public:
  virtual ~Clock() = default;
  virtual UnixMillis now() const = 0;
};

/// Returns the machine's clock.
const Clock& system_clock();

/// Returns the Julian day number of TIME. Divides whole milliseconds by 86400000, as SQL's
/// julianday() does, so that the results are equal.
double julian_day(UnixMillis time);
UnixMillis from_julian_day(double day);

/// Formats TIME as "YYYY-MM-DDTHH:MM:SS" in UTC, the format of the protocol's timestamp line.
std::string iso_seconds(UnixMillis time);
/// Formats TIME as "YYYY-MM-DDTHH:MM:SS.SSS" in UTC, the format of a D card.
std::string iso_millis(UnixMillis time);
/// Formats MICROS, microseconds since 1970, as "YYYY-MM-DDTHH:MM:SS.ffffffZ", the format of logs.
std::string iso_micros(std::int64_t micros);
/// Parses "YYYY-MM-DDTHH:MM:SS[.fraction]"; a space instead of the T is also valid. Returns nullopt
/// unless TEXT is a valid date in the years 0000 to 9999. Rounds to milliseconds like SQLite.
std::optional<UnixMillis> parse_iso(std::string_view text);

}  // namespace quarry::base
