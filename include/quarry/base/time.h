// Clocks, and Fossil's representation of time: Julian day numbers as doubles. A repository stores
// the times of check-ins, tags and events in this form.
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

/// A source of the current time, which tests can fix.
class Clock {
 public:
  virtual ~Clock() = default;
  virtual UnixMillis now() const = 0;
};

/// The machine's clock.
const Clock& system_clock();

/// Returns the Julian day number, computed as SQLite does (whole milliseconds / 86400000), so that
/// it equals the result of SQL's julianday().
double julian_day(UnixMillis time);
UnixMillis from_julian_day(double day);

/// Formats TIME as "YYYY-MM-DDTHH:MM:SS" in UTC, as in the protocol's timestamp line.
std::string iso_seconds(UnixMillis time);
/// Formats TIME as iso_seconds() does, with ".SSS" appended, as in a D card.
std::string iso_millis(UnixMillis time);
/// Formats MICROS, microseconds since 1970, as "YYYY-MM-DDTHH:MM:SS.ffffffZ", as in logs.
std::string iso_micros(std::int64_t micros);
/// Parses "YYYY-MM-DDTHH:MM:SS[.fraction]", also with a space instead of the T. Returns nullopt
/// unless TEXT is a valid date of the years 0000 to 9999. Digits beyond milliseconds are rounded as
/// in SQLite.
std::optional<UnixMillis> parse_iso(std::string_view text);

}  // namespace quarry::base
