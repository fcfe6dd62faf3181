#include "words.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <cstddef>

namespace quarry::pages {

std::string age_of(base::UnixMillis time, base::UnixMillis now) {
  struct Unit {
    std::int64_t seconds;
    const char* name;
  };
  constexpr std::array<Unit, 5> kUnits = {{{31'556'952, "year"},
                                           {2'629'746, "month"},
                                           {86'400, "day"},
                                           {3'600, "hour"},
                                           {60, "minute"}}};
  const std::int64_t seconds = (now.value - time.value) / 1000;
  for (const Unit& unit : kUnits) {
    const std::int64_t count = seconds / unit.seconds;
    if (count > 0) return fmt::format("{} {}{} ago", count, unit.name, count == 1 ? "" : "s");
  }
  return "just now";
}

std::string size_in_words(std::uint64_t bytes) {
  constexpr std::array<const char*, 4> kUnits = {"kB", "MB", "GB", "TB"};
  double size = static_cast<double>(bytes) / 1000;
  std::size_t unit = 0;
  while (size >= 999.5 && unit + 1 < kUnits.size()) {
    size /= 1000;
    ++unit;
  }
  return size < 9.95 ? fmt::format("{:.1f} {}", size, kUnits[unit])
                     : fmt::format("{:.0f} {}", size, kUnits[unit]);
}

void put_time(Values& row, base::UnixMillis time, base::UnixMillis now) {
  std::string text = base::iso_seconds(time);
  row.set("age", age_of(time, now));
  row.set("time", text + "Z");
  text[text.find('T')] = ' ';
  row.set("time_in_words", text + " UTC");
}

std::string url_with_user(std::string_view url) {
  const std::size_t host = std::min(url.find("://") + 3, url.size());
  return fmt::format("{}USER@{}", url.substr(0, host), url.substr(host));
}

}  // namespace quarry::pages
