// Clocks, and Fossil's notion of time: Julian day numbers as doubles, which is how every *.mtime of
// a check-in, tag or event is kept in a repository.
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

/// The Julian day number, with SQLite's arithmetic (whole milliseconds / 86400000), so that it equals
/// the result of SQL's julianday().
double julian_day(UnixMillis time);
UnixMillis from_julian_day(double day);

/// "YYYY-MM-DDTHH:MM:SS" in UTC, as in the protocol's timestamp line.
std::string iso_seconds(UnixMillis time);
/// The same with ".SSS", as in a D card.
std::string iso_millis(UnixMillis time);
/// "YYYY-MM-DDTHH:MM:SS.ffffffZ" of microseconds since 1970, as in logs.
std::string iso_micros(std::int64_t micros);
/// Parses "YYYY-MM-DDTHH:MM:SS[.fraction]" (or with a space instead of the T), a valid date of the
/// years 0000 to 9999; nothing else is accepted. Digits beyond milliseconds are rounded as SQLite
/// does.
std::optional<UnixMillis> parse_iso(std::string_view text);

}  // namespace quarry::base
