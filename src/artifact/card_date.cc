#include <charconv>
#include <cmath>

#include "card_checks.h"

namespace quarry::artifact {
namespace {

constexpr std::int64_t kUnixEpochJulianMillis = 210866760000000;
constexpr std::int64_t kLastJulianMillis = 464269060799999;  // 9999-12-31T23:59:59.999
constexpr double kFirstInvalidDay = 5373484.5;

constexpr bool is_space(char c) {
  return c == ' ' || (c >= '\t' && c <= '\r');
}

void skip_spaces(std::string_view& rest) {
  while (!rest.empty() && is_space(rest.front())) rest.remove_prefix(1);
}

bool take(std::string_view& rest, char c) {
  if (!rest.starts_with(c)) return false;
  rest.remove_prefix(1);
  return true;
}

/// Removes a number of exactly COUNT digits, between LOW and HIGH, from the front of REST, and
/// returns it.
std::optional<int> take_digits(std::string_view& rest, std::size_t count, int low, int high) {
  if (rest.size() < count) return std::nullopt;
  int number = 0;
  for (const char c : rest.substr(0, count)) {
    if (c < '0' || c > '9') return std::nullopt;
    number = number * 10 + (c - '0');
  }
  if (number < low || number > high) return std::nullopt;
  rest.remove_prefix(count);
  return number;
}

/// Removes the fraction of a second from the front of REST and returns it. Returns 0 if there is
/// none. Keeps a point without digits after it. As in SQLite, the result is NaN if there are so
/// many digits that both `fraction` and `scale` become infinite.
double take_fraction(std::string_view& rest) {
  if (!rest.starts_with('.')) return 0;
  double fraction = 0;
  double scale = 1;
  std::size_t used = 1;
  for (; used < rest.size() && rest[used] >= '0' && rest[used] <= '9'; ++used) {
    fraction = fraction * 10 + (rest[used] - '0');
    scale *= 10;
  }
  if (used > 1) rest.remove_prefix(used);
  return fraction / scale;
}

/// Adds a half and rounds down, like SQLite. For some numbers just below a half, the result differs
/// from llround().
std::int64_t round_up_half(double number) {
  return static_cast<std::int64_t>(std::floor(number + 0.5));
}

/// Parses the time zone REST, and returns it in minutes east of Greenwich. Returns nullopt if REST
/// is not a time zone.
std::optional<int> parse_zone(std::string_view rest) {
  skip_spaces(rest);
  int minutes = 0;
  if (rest.starts_with('+') || rest.starts_with('-')) {
    const int sign = rest.front() == '-' ? -1 : 1;
    rest.remove_prefix(1);
    const auto hour = take_digits(rest, 2, 0, 14);
    if (!hour || !take(rest, ':')) return std::nullopt;
    const auto minute = take_digits(rest, 2, 0, 59);
    if (!minute) return std::nullopt;
    minutes = sign * (*hour * 60 + *minute);
  } else if (!rest.empty()) {
    if (!take(rest, 'Z') && !take(rest, 'z')) return std::nullopt;
  }
  skip_spaces(rest);
  if (!rest.empty()) return std::nullopt;
  return minutes;
}

// As in SQLite, the dates below are Julian days, in milliseconds.

/// Parses a time with or without a time zone. Returns the milliseconds since midnight in Greenwich,
/// which can be negative or more than a day.
std::optional<std::int64_t> parse_time_of_day(std::string_view rest) {
  const auto hour = take_digits(rest, 2, 0, 24);
  if (!hour || !take(rest, ':')) return std::nullopt;
  const auto minute = take_digits(rest, 2, 0, 59);
  if (!minute) return std::nullopt;
  double seconds = 0;
  if (take(rest, ':')) {
    const auto whole = take_digits(rest, 2, 0, 59);
    if (!whole) return std::nullopt;
    seconds = *whole + take_fraction(rest);
    if (std::isnan(seconds)) return std::nullopt;
  }
  const auto zone = parse_zone(rest);
  if (!zone) return std::nullopt;
  return (*hour * 60 + *minute - *zone) * std::int64_t{60'000} + round_up_half(seconds * 1000);
}

/// Returns the Julian day at midnight in milliseconds, by Meeus' formula. A day after the end of
/// its month counts as a day of the next month. As in SQLite, divisions round towards zero, so some
/// dates before the year -400 are a day late.
std::int64_t julian_millis_of(int year, int month, int day) {
  if (month <= 2) {
    --year;
    month += 12;
  }
  const int century = year / 100;
  const int gregorian = 2 - century + century / 4;
  const int of_years = 36525 * (year + 4716) / 100;
  const int of_months = 306001 * (month + 1) / 10000;
  constexpr std::int64_t kDay = 86'400'000;
  return (of_years + of_months + day + gregorian - 1524) * kDay - kDay / 2;
}

std::optional<std::int64_t> parse_calendar(std::string_view text) {
  const bool negative = take(text, '-');
  const auto year = take_digits(text, 4, 0, negative ? 4713 : 9999);
  if (!year || !take(text, '-')) return std::nullopt;
  const auto month = take_digits(text, 2, 1, 12);
  if (!month || !take(text, '-')) return std::nullopt;
  const auto day = take_digits(text, 2, 1, 31);
  if (!day) return std::nullopt;
  const std::int64_t midnight = julian_millis_of(negative ? -*year : *year, *month, *day);
  while (!text.empty() && (is_space(text.front()) || text.front() == 'T')) text.remove_prefix(1);
  if (text.empty()) return midnight;
  const auto time = parse_time_of_day(text);
  if (!time) return std::nullopt;
  return midnight + *time;
}

std::optional<std::int64_t> parse_julian_day(std::string_view text) {
  skip_spaces(text);
  while (!text.empty() && is_space(text.back())) text.remove_suffix(1);
  take(text, '+');
  // Without this check, from_chars() would also accept words like "inf".
  if (text.empty() || !(text[0] == '.' || (text[0] >= '0' && text[0] <= '9'))) return std::nullopt;
  double day = 0;
  const char* const begin = text.data();
  const char* const end = begin + text.size();
  const auto [stop, error] = std::from_chars(begin, end, day);
  if (error != std::errc() || stop != end || !(day < kFirstInvalidDay)) return std::nullopt;
  return round_up_half(day * 86400000.0);
}

}  // namespace

std::optional<base::UnixMillis> parse_card_date(std::string_view text) {
  auto millis = parse_calendar(text);
  if (!millis) {
    const auto time = parse_time_of_day(text);
    millis = time ? julian_millis_of(2000, 1, 1) + *time : parse_julian_day(text);
  }
  if (!millis || *millis <= 0 || *millis > kLastJulianMillis) return std::nullopt;
  return base::UnixMillis{*millis - kUnixEpochJulianMillis};
}

}  // namespace quarry::artifact
