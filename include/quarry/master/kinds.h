// Kinds of values: how each is parsed from the configuration and written to it.
//
// A kind is a type with put(TARGET, value) and show(TARGET). put() accepts the output of show(),
// which is empty for a value that is not set.
#pragma once

#include <fmt/core.h>

#include <concepts>
#include <limits>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "quarry/base/escape.h"
#include "quarry/base/log_options.h"
#include "quarry/base/socket.h"
#include "quarry/master/directive_table.h"
#include "quarry/master/values.h"

namespace quarry::master {

constexpr std::uint64_t kMaxCount = std::numeric_limits<std::int32_t>::max();

/// Stores the result of a value parser in TARGET.
template <typename Target, typename Parsed>
base::Result<void> put(Target& target, base::Result<Parsed> parsed) {
  if (!parsed) return std::unexpected(std::move(parsed).error());
  // The parsers keep numbers within what their targets hold.
  target = static_cast<Target>(std::move(*parsed));
  return {};
}

/// A whole number; a value below LEAST means that it was never set.
template <std::uint64_t least = 0, std::uint64_t max = kMaxCount>
struct Number {
  static base::Result<void> put(auto& target, const std::string& value) {
    return master::put(target, parse_number(value, least, max));
  }
  static Shown show(std::integral auto number) {
    if (static_cast<std::uint64_t>(number) < least) return {};
    return {std::to_string(number)};
  }
  static Shown show(const std::optional<std::uint64_t>& number) {
    return number ? show(*number) : Shown();
  }
};

/// rlimit_files: with fewer, neither the master nor a worker could start.
inline constexpr std::uint64_t kLeastFiles = 64;

/// As in PHP-FPM, -1 means the system's maximum.
struct Backlog {
  static base::Result<void> put(int& target, const std::string& value) {
    if (value != "-1") return master::put(target, parse_number(value, 1, kMost));
    target = kMost;
    return {};
  }
  static Shown show(int backlog) { return {std::to_string(backlog)}; }

 private:
  static constexpr int kMost = 65535;
};

struct Size {
  static base::Result<void> put(std::uint64_t& target, const std::string& value) {
    return master::put(target, parse_size(value));
  }
  static Shown show(std::uint64_t size) { return {shown_size(size)}; }
};

struct Duration {
  static base::Result<void> put(std::chrono::milliseconds& target, const std::string& value) {
    return master::put(target, parse_duration(value));
  }
  static Shown show(std::chrono::milliseconds time) { return {shown_duration(time)}; }
};

/// A duration that is not 0.
struct Timeout : Duration {
  static base::Result<void> put(std::chrono::milliseconds& target, const std::string& value) {
    QUARRY_TRY_ASSIGN(target, parse_duration(value));
    if (target.count() > 0) return {};
    return base::fail(base::ErrorCode::kInvalid, "it must be at least 1ms");
  }
};

struct Switch {
  static base::Result<void> put(bool& target, const std::string& value) {
    return master::put(target, parse_bool(value));
  }
  static Shown show(bool is_on) { return {is_on ? "yes" : "no"}; }
};

struct Mode {
  static base::Result<void> put(mode_t& target, const std::string& value) {
    return master::put(target, parse_mode(value));
  }
  static Shown show(mode_t mode) { return {shown_mode(mode)}; }
};

/// Any text; an empty one counts as not set.
struct Text {
  static base::Result<void> put(std::string& target, const std::string& value) {
    target = value;
    return {};
  }
  static Shown show(const std::string& text) { return text.empty() ? Shown() : Shown{text}; }
};

/// An absolute path.
struct Path : Text {
  static bool is_relative(std::string_view value) {
    return !value.empty() && !value.starts_with('/');
  }
  static base::Result<void> put(auto& target, const std::string& value) {
    return master::put(target, parse_path(value));
  }
};

/// The value of error_log.
struct LogTarget {
  static base::Result<void> put(base::LogOptions& log, const std::string& value) {
    return base::set_log_target(log, value);
  }
  static Shown show(const base::LogOptions& log) { return {base::log_target_of(log)}; }
  static bool is_relative(std::string_view value) {
    const std::string_view word = value.substr(0, value.find(':'));
    return Path::is_relative(value) && word != "stderr" && word != "syslog" && word != "journald";
  }
};

/// A facility of syslog(3).
struct Facility {
  static base::Result<void> put(int& target, const std::string& value) {
    const auto facility = base::syslog_facility_named(value);
    if (!facility) {
      return base::fail(base::ErrorCode::kInvalid,
                        fmt::format("\"{}\" is no facility of syslog(3), such as daemon or local0",
                                    base::printable(value)));
    }
    target = *facility;
    return {};
  }
  static Shown show(int facility) { return {std::string(base::syslog_facility_name(facility))}; }
};

/// The path of a page in a URL.
struct PagePath : Text {
  static base::Result<void> put(std::string& target, const std::string& value) {
    return master::put(target, parse_page_path(value));
  }
};

struct ListenAddress {
  static base::Result<void> put(std::optional<base::SocketAddress>& target,
                                const std::string& value) {
    QUARRY_TRY_ASSIGN(target, base::SocketAddress::parse(value));
    // A relative one would depend on where quarryd was started.
    if (target->is_unix()) QUARRY_TRY(parse_path(value));
    return {};
  }
  static Shown show(const std::optional<base::SocketAddress>& address) {
    return address ? Shown{address->str()} : Shown();
  }
  static bool is_relative(std::string_view value) {
    return value.find('/') != std::string_view::npos && !value.starts_with('/');
  }
};

struct IpAddresses {
  static base::Result<void> put(std::vector<base::SocketAddress>& target,
                                const std::string& value) {
    return master::put(target, parse_addresses(value));
  }
  static Shown show(const std::vector<base::SocketAddress>& addresses);
};

struct Networks {
  static base::Result<void> put(std::vector<std::string>& target, const std::string& value) {
    return master::put(target, parse_networks(value));
  }
  static Shown show(const std::vector<std::string>& networks);
};

/// Scheduling priority.
struct Priority {
  static base::Result<void> put(std::optional<int>& target, const std::string& value) {
    return master::put(target, parse_priority(value));
  }
  static Shown show(std::optional<int> priority) {
    return priority ? Shown{std::to_string(*priority)} : Shown();
  }
};

/// The limit of a core file.
struct CoreLimit {
  static base::Result<void> put(std::optional<std::uint64_t>& target, const std::string& value) {
    return master::put(target, parse_core_limit(value));
  }
  static Shown show(std::optional<std::uint64_t> limit);
};

}  // namespace quarry::master
