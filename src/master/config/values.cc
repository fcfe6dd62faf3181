#include "quarry/master/values.h"

#include <fmt/core.h>
#include <sys/resource.h>

#include <algorithm>
#include <array>
#include <limits>

#include "quarry/base/blanks.h"
#include "quarry/base/log.h"
#include "quarry/base/number.h"
#include "quarry/base/split.h"

namespace quarry::master {
namespace {

using base::ErrorCode;
using base::fail;
using base::printable;

}  // namespace

base::Result<std::uint64_t> parse_number(std::string_view text, std::uint64_t least,
                                         std::uint64_t max) {
  const auto number = base::parse_number<std::uint64_t>(text);
  if (!number || *number < least || *number > max) {
    return fail(ErrorCode::kInvalid, fmt::format("\"{}\" is no whole number from {} to {}",
                                                 printable(text), least, max));
  }
  return *number;
}

base::Result<std::uint64_t> parse_size(std::string_view text) {
  constexpr std::string_view kUnits = "KMG";
  unsigned shift = 0;
  std::string_view number_text = text;
  if (!text.empty()) {
    const std::size_t unit = kUnits.find(text.back());
    if (unit != std::string_view::npos) {
      shift = 10 * (static_cast<unsigned>(unit) + 1);
      number_text.remove_suffix(1);
    }
  }
  const auto number = base::parse_number<std::uint64_t>(number_text);
  if (!number || *number == 0 ||
      *number > (std::numeric_limits<std::uint64_t>::max() >> (shift + 1))) {
    return fail(
        ErrorCode::kInvalid,
        fmt::format("\"{}\" is no size: write bytes, or a number with K, M or G", printable(text)));
  }
  return *number << shift;
}

base::Result<std::chrono::milliseconds> parse_duration(std::string_view text) {
  struct Unit {
    std::string_view name;
    std::int64_t millis;
  };
  constexpr auto kUnits = std::to_array<Unit>(
      {{"", 1000}, {"ms", 1}, {"s", 1000}, {"m", 60'000}, {"h", 3'600'000}, {"d", 86'400'000}});
  constexpr std::uint64_t kMost = 365ULL * 86'400'000;
  const std::size_t end = std::min(text.find_first_not_of("0123456789"), text.size());
  const auto unit = std::ranges::find(kUnits, text.substr(end), &Unit::name);
  const auto number = base::parse_number<std::uint64_t>(text.substr(0, end));
  if (number && unit != kUnits.end() &&
      *number > kMost / static_cast<std::uint64_t>(unit->millis)) {
    return fail(ErrorCode::kInvalid,
                fmt::format("\"{}\" is too long: at most 365d", printable(text)));
  }
  if (!number || unit == kUnits.end()) {
    return fail(
        ErrorCode::kInvalid,
        fmt::format("\"{}\" is no duration: write seconds, or a number with ms, s, m, h or d",
                    printable(text)));
  }
  return std::chrono::milliseconds(static_cast<std::int64_t>(*number) * unit->millis);
}

base::Result<bool> parse_bool(std::string_view text) {
  if (text == "yes" || text == "on" || text == "true" || text == "1") return true;
  if (text == "no" || text == "off" || text == "false" || text == "0") return false;
  return fail(ErrorCode::kInvalid, fmt::format("\"{}\" is neither yes nor no", printable(text)));
}

base::Result<mode_t> parse_mode(std::string_view text) {
  const auto mode = base::parse_number<std::uint64_t>(text, 8);
  if (!mode || *mode > 0777) {
    return fail(ErrorCode::kInvalid,
                fmt::format("\"{}\" is no file mode such as 0660", printable(text)));
  }
  return static_cast<mode_t>(*mode);
}

std::vector<std::string> split_list(std::string_view text) {
  std::vector<std::string> entries;
  while (!text.empty()) {
    const std::string_view entry = base::trim_blanks(base::take_until(text, ','));
    if (!entry.empty()) entries.emplace_back(entry);
  }
  return entries;
}

base::Result<std::vector<base::SocketAddress>> parse_addresses(std::string_view text) {
  std::vector<base::SocketAddress> addresses;
  while (!text.empty()) {
    const std::string_view entry = base::trim_blanks(base::take_until(text, ','));
    QUARRY_TRY_ASSIGN(auto address, base::SocketAddress::parse_ip(entry));
    addresses.push_back(address);
  }
  return addresses;
}

base::Result<std::vector<std::string>> parse_networks(std::string_view text) {
  std::vector<std::string> networks;
  while (!text.empty()) {
    const std::string_view entry = base::trim_blanks(base::take_until(text, ','));
    const std::size_t slash = entry.find('/');
    QUARRY_TRY_ASSIGN(const auto address, base::SocketAddress::parse_ip(entry.substr(0, slash)));
    if (slash != std::string_view::npos) {
      QUARRY_TRY(parse_number(entry.substr(slash + 1), 0, address.family() == AF_INET ? 32 : 128));
    }
    networks.emplace_back(entry);
  }
  return networks;
}

base::Result<int> parse_priority(std::string_view text) {
  const bool is_negative = text.starts_with('-');
  const auto number = parse_number(text.substr(is_negative ? 1 : 0), 0, is_negative ? 19 : 20);
  if (!number) {
    return fail(ErrorCode::kInvalid,
                fmt::format("\"{}\" is no whole number from -19 to 20", printable(text)));
  }
  const int priority = static_cast<int>(*number);
  return is_negative ? -priority : priority;
}

base::Result<std::uint64_t> parse_core_limit(std::string_view text) {
  if (text == "unlimited") return std::uint64_t{RLIM_INFINITY};
  const auto number = parse_number(text, 0, std::numeric_limits<std::int32_t>::max());
  if (number) return *number;
  return fail(ErrorCode::kInvalid,
              fmt::format("{}, and not \"unlimited\"", number.error().message));
}

base::Result<std::string> parse_page_path(std::string_view text) {
  const auto is_allowed = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
           std::string_view("/_-.~").find(c) != std::string_view::npos;
  };
  if (text.size() < 2 || !text.starts_with('/') || !std::ranges::all_of(text, is_allowed)) {
    return fail(ErrorCode::kInvalid,
                fmt::format("\"{}\" is no path of a page: write / and then letters, digits and "
                            "/ _ - . ~",
                            printable(text)));
  }
  return std::string(text);
}

base::Result<std::string> parse_path(std::string_view text) {
  if (!text.starts_with('/')) {
    return fail(ErrorCode::kInvalid, fmt::format("\"{}\" is no absolute path", printable(text)));
  }
  return std::string(text);
}

std::string shown_size(std::uint64_t size) {
  constexpr std::string_view kUnits = "GMK";
  std::uint64_t unit = std::uint64_t{1} << 30;
  for (const char name : kUnits) {
    if (size > 0 && size % unit == 0) return fmt::format("{}{}", size / unit, name);
    unit >>= 10;
  }
  return std::to_string(size);
}

std::string shown_duration(std::chrono::milliseconds time) {
  if (time.count() == 0) return "0";
  const bool is_whole = time.count() % 1000 == 0;
  return is_whole ? fmt::format("{}s", time.count() / 1000) : fmt::format("{}ms", time.count());
}

std::string shown_mode(mode_t mode) {
  return fmt::format("{:04o}", mode);
}

}  // namespace quarry::master
