#include "quarry/master/kinds.h"

#include <fmt/core.h>
#include <sys/resource.h>

#include <algorithm>
#include <array>

#include "quarry/base/blanks.h"
#include "quarry/base/number.h"
#include "quarry/base/split.h"

namespace quarry::master {
namespace {

using base::printable;

std::unexpected<Error> invalid(std::string message) {
  return fail(ErrorCode::kInvalid, std::move(message));
}

}  // namespace

Result<std::uint64_t> parse_number(std::string_view text, std::uint64_t least, std::uint64_t max) {
  const auto number = base::parse_number<std::uint64_t>(text);
  if (number && *number >= least && *number <= max) return *number;
  return invalid(
      fmt::format("\"{}\" is not a whole number from {} to {}", printable(text), least, max));
}

Result<std::string> parse_path(std::string_view text) {
  if (text.starts_with('/')) return std::string(text);
  return invalid(fmt::format("\"{}\" is not an absolute path", printable(text)));
}

std::vector<std::string> split_list(std::string_view text) {
  std::vector<std::string> entries;
  while (!text.empty()) {
    const std::string_view entry = base::trim_blanks(base::take_until(text, ','));
    if (!entry.empty()) entries.emplace_back(entry);
  }
  return entries;
}

Result<void> Backlog::put(int& target, const std::string& value) {
  constexpr int kMax = 65535;
  if (value != "-1") return master::put(target, parse_number(value, 1, kMax));
  target = kMax;
  return {};
}

Result<void> Size::put(std::uint64_t& target, const std::string& value) {
  std::string_view digits = value;
  const std::size_t unit = std::string_view("KMG").find(value.empty() ? '0' : value.back());
  unsigned shift = 0;
  if (unit != std::string_view::npos) {
    shift = 10 * (static_cast<unsigned>(unit) + 1);
    digits.remove_suffix(1);
  }
  const auto number = base::parse_number<std::uint64_t>(digits);
  if (!number || *number == 0 ||
      *number > (std::numeric_limits<std::uint64_t>::max() >> (shift + 1))) {
    return invalid(
        fmt::format("\"{}\" is not a size: expected bytes, or a number followed by K, M or G",
                    printable(value)));
  }
  target = *number << shift;
  return {};
}

Shown Size::show(std::uint64_t size) {
  std::uint64_t unit = std::uint64_t{1} << 30;
  for (const char name : std::string_view("GMK")) {
    if (size > 0 && size % unit == 0) return {fmt::format("{}{}", size / unit, name)};
    unit >>= 10;
  }
  return {std::to_string(size)};
}

Result<void> Duration::put(std::chrono::milliseconds& target, const std::string& value) {
  using Unit = std::pair<std::string_view, std::uint64_t>;
  constexpr auto kUnits = std::to_array<Unit>(
      {{"", 1000}, {"ms", 1}, {"s", 1000}, {"m", 60'000}, {"h", 3'600'000}, {"d", 86'400'000}});
  constexpr std::uint64_t kMax = 365ULL * 86'400'000;
  const std::string_view text = value;
  const std::size_t end = std::min(text.find_first_not_of("0123456789"), text.size());
  const auto unit = std::ranges::find(kUnits, text.substr(end), &Unit::first);
  const auto number = base::parse_number<std::uint64_t>(text.substr(0, end));
  if (!number || unit == kUnits.end()) {
    return invalid(fmt::format(
        "\"{}\" is not a duration: expected seconds, or a number followed by ms, s, m, h or d",
        printable(text)));
  }
  if (*number > kMax / unit->second) {
    return invalid(fmt::format("\"{}\" is too long: at most 365d", printable(text)));
  }
  target = std::chrono::milliseconds(*number * unit->second);
  return {};
}

Shown Duration::show(std::chrono::milliseconds time) {
  if (time.count() == 0) return {"0"};
  const bool is_whole = time.count() % 1000 == 0;
  return {is_whole ? fmt::format("{}s", time.count() / 1000) : fmt::format("{}ms", time.count())};
}

Result<void> Timeout::put(std::chrono::milliseconds& target, const std::string& value) {
  QUARRY_TRY(Duration::put(target, value));
  if (target.count() > 0) return {};
  return invalid("must be at least 1ms");
}

Result<void> Switch::put(bool& target, const std::string& value) {
  target = value == "yes" || value == "on" || value == "true" || value == "1";
  if (target || value == "no" || value == "off" || value == "false" || value == "0") return {};
  return invalid(fmt::format("\"{}\" is neither yes nor no", printable(value)));
}

Result<void> Mode::put(mode_t& target, const std::string& value) {
  const auto mode = base::parse_number<mode_t>(value, 8);
  if (!mode || *mode > 0777) {
    return invalid(fmt::format("\"{}\" is not a file mode such as 0660", printable(value)));
  }
  target = *mode;
  return {};
}

Shown Mode::show(mode_t mode) {
  return {fmt::format("{:04o}", mode)};
}

Result<void> Paths::put(std::vector<std::string>& target, const std::string& value) {
  QUARRY_TRY_ASSIGN(auto path, parse_path(value));
  target.push_back(std::move(path));
  return {};
}

bool LogTarget::is_relative(std::string_view value) {
  const std::string_view word = value.substr(0, value.find(':'));
  return Path::is_relative(value) && word != "stderr" && word != "syslog" && word != "journald" &&
         word != "destination";
}

bool AccessLogTarget::is_relative(std::string_view value) {
  return Path::is_relative(value) && !base::destination_in(value);
}

Result<void> AccessLogTarget::put(std::string& target, const std::string& value) {
  return base::destination_in(value) ? Text::put(target, value) : Path::put(target, value);
}

Result<void> Facility::put(int& target, const std::string& value) {
  if (const auto facility = base::syslog_facility_named(value)) {
    target = *facility;
    return {};
  }
  return invalid(fmt::format("\"{}\" is not a facility of syslog(3), such as daemon or local0",
                             printable(value)));
}

Result<void> PagePath::put(std::string& target, const std::string& value) {
  const auto is_allowed = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
           std::string_view("/_-.~").find(c) != std::string_view::npos;
  };
  if (value.size() < 2 || !value.starts_with('/') || !std::ranges::all_of(value, is_allowed)) {
    return invalid(
        fmt::format("\"{}\" is not a valid page path: it must start with / and contain only "
                    "letters, digits and / _ - . ~",
                    printable(value)));
  }
  target = value;
  return {};
}

Result<void> ListenAddress::put(std::optional<base::SocketAddress>& target,
                                const std::string& value) {
  QUARRY_TRY_ASSIGN(target, base::SocketAddress::parse(value));
  // Require an absolute path: a relative path would depend on the folder in which quarryd was
  // started.
  if (target->is_unix()) QUARRY_TRY(parse_path(value));
  return {};
}

Result<void> IpAddresses::put(std::vector<base::SocketAddress>& target, const std::string& value) {
  target.clear();
  for (std::string_view text = value; !text.empty();) {
    const std::string_view entry = base::trim_blanks(base::take_until(text, ','));
    QUARRY_TRY_ASSIGN(auto address, base::SocketAddress::parse_ip(entry));
    target.push_back(address);
  }
  return {};
}

Shown IpAddresses::show(const std::vector<base::SocketAddress>& addresses) {
  std::vector<std::string> texts(addresses.size());
  std::ranges::transform(addresses, texts.begin(), &base::SocketAddress::ip);
  return Networks::show(texts);
}

Result<void> Networks::put(std::vector<std::string>& target, const std::string& value) {
  target.clear();
  for (std::string_view text = value; !text.empty();) {
    const std::string_view entry = base::trim_blanks(base::take_until(text, ','));
    const std::size_t slash = entry.find('/');
    QUARRY_TRY_ASSIGN(const auto address, base::SocketAddress::parse_ip(entry.substr(0, slash)));
    if (slash != std::string_view::npos) {
      QUARRY_TRY(parse_number(entry.substr(slash + 1), 0, address.family() == AF_INET ? 32 : 128));
    }
    target.emplace_back(entry);
  }
  return {};
}

Shown Networks::show(const std::vector<std::string>& networks) {
  std::string list;
  for (const std::string& network : networks) list += (list.empty() ? "" : ", ") + network;
  return list.empty() ? Shown() : Shown{list};
}

Result<void> Priority::put(std::optional<int>& target, const std::string& value) {
  const auto number = base::parse_number<int>(value);
  if (!number || *number < -19 || *number > 20) {
    return invalid(fmt::format("\"{}\" is not a whole number from -19 to 20", printable(value)));
  }
  target = *number;
  return {};
}

Result<void> CoreLimit::put(std::optional<std::uint64_t>& target, const std::string& value) {
  target = RLIM_INFINITY;
  if (value == "unlimited") return {};
  const auto number = parse_number(value, 0, kMaxCount);
  if (!number) return invalid(number.error().message + " or \"unlimited\"");
  target = *number;
  return {};
}

Shown CoreLimit::show(std::optional<std::uint64_t> limit) {
  if (!limit) return {};
  return {*limit == RLIM_INFINITY ? "unlimited" : std::to_string(*limit)};
}

}  // namespace quarry::master
