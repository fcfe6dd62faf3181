#include "quarry/base/time.h"

#include <fmt/chrono.h>

#include <chrono>
#include <ctime>

namespace quarry::base {
namespace {

// 1970-01-01T00:00:00Z as a Julian day number, in milliseconds.
constexpr std::int64_t kUnixEpochJulianMillis = 210866760000000;
constexpr double kMillisPerDay = 86400000.0;

class SystemClock : public Clock {
 public:
  UnixMillis now() const override {
    using std::chrono::duration_cast;
    using std::chrono::milliseconds;
    const auto since_epoch = std::chrono::system_clock::now().time_since_epoch();
    return UnixMillis{duration_cast<milliseconds>(since_epoch).count()};
  }
};

/// Returns TIME in whole seconds, rounded down.
std::time_t time_of(UnixMillis time) {
  return std::chrono::floor<std::chrono::seconds>(std::chrono::milliseconds(time.value)).count();
}

/// Returns the number in TEXT[at, at+count). Returns -1 if the text contains characters other than
/// digits.
int digits(std::string_view text, std::size_t at, std::size_t count) {
  if (text.size() < at + count) return -1;
  int value = 0;
  for (std::size_t i = at; i < at + count; ++i) {
    if (text[i] < '0' || text[i] > '9') return -1;
    value = value * 10 + (text[i] - '0');
  }
  return value;
}

}  // namespace

const Clock& system_clock() {
  static const SystemClock clock;
  return clock;
}

double julian_day(UnixMillis time) {
  return static_cast<double>(time.value + kUnixEpochJulianMillis) / kMillisPerDay;
}

UnixMillis from_julian_day(double day) {
  return UnixMillis{static_cast<std::int64_t>(day * kMillisPerDay + 0.5) - kUnixEpochJulianMillis};
}

std::string iso_seconds(UnixMillis time) {
  return fmt::format("{:%FT%T}", fmt::gmtime(time_of(time)));
}

std::string iso_millis(UnixMillis time) {
  const auto millis = time.value - 1000 * std::int64_t{time_of(time)};
  return fmt::format("{}.{:03}", iso_seconds(time), millis);
}

std::string iso_micros(std::int64_t micros) {
  constexpr std::int64_t kMicros = 1'000'000;
  return fmt::format("{}.{:06}Z", iso_seconds({micros / 1000}), micros % kMicros);
}

std::optional<UnixMillis> parse_iso(std::string_view text) {
  using namespace std::chrono;
  if (text.size() < 19 || text[4] != '-' || text[7] != '-' ||
      (text[10] != 'T' && text[10] != ' ') || text[13] != ':' || text[16] != ':') {
    return std::nullopt;
  }
  const int y = digits(text, 0, 4), mo = digits(text, 5, 2), d = digits(text, 8, 2);
  const int h = digits(text, 11, 2), mi = digits(text, 14, 2), s = digits(text, 17, 2);
  if (y < 0 || mo < 1 || mo > 12 || d < 1 || d > 31 || h < 0 || h > 23 || mi < 0 || mi > 59 ||
      s < 0 || s > 59) {
    return std::nullopt;
  }
  double fraction = 0;
  if (text.size() > 19) {
    if (text[19] != '.' || text.size() == 20) return std::nullopt;
    double scale = 1;
    for (const char c : text.substr(20)) {
      if (c < '0' || c > '9') return std::nullopt;
      fraction = fraction * 10 + (c - '0');
      scale *= 10;
    }
    fraction /= scale;
  }
  // As in SQLite's date functions, days beyond the end of a month continue into the next month.
  const sys_days date = sys_days{year{y} / month{static_cast<unsigned>(mo)} / 1} + days{d - 1};
  const double of_day = (h * 3600.0 + mi * 60.0 + s + fraction) * 1000.0;
  return UnixMillis{duration_cast<milliseconds>(date.time_since_epoch()).count() +
                    static_cast<std::int64_t>(of_day + 0.5)};
}

}  // namespace quarry::base
