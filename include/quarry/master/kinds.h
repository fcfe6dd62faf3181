// Kinds of values in the configuration. A kind parses and shows a value.
//
// A kind is a type with put(TARGET, value) and show(TARGET). show() returns an empty list if the
// value is not set. put() accepts the output of show(). The errors from put() (kInvalid) describe
// the valid values.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <concepts>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "quarry/base/escape.h"
#include "quarry/base/log_options.h"
#include "quarry/base/result.h"
#include "quarry/base/socket.h"
#include "quarry/master/directive_table.h"

namespace quarry::master {

constexpr std::uint64_t kMaxCount = std::numeric_limits<std::int32_t>::max();

Result<std::uint64_t> parse_number(std::string_view text, std::uint64_t least, std::uint64_t max);
Result<std::string> parse_path(std::string_view text);
/// Splits TEXT at commas. Drops spaces around entries, and empty entries.
std::vector<std::string> split_list(std::string_view text);

template <typename Target, typename Parsed>
Result<void> put(Target& target, Result<Parsed> parsed) {
  if (!parsed) return std::unexpected(std::move(parsed).error());
  target = static_cast<Target>(std::move(*parsed));
  return {};
}

/// A whole number from LEAST to MAX. A field with a value below LEAST means that the directive is
/// not set.
template <std::uint64_t least = 0, std::uint64_t max = kMaxCount>
struct Number {
  static Result<void> put(auto& target, const std::string& value) {
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

/// Minimum of rlimit_files. The master and a worker cannot start with a lower limit.
inline constexpr std::uint64_t kMinFiles = 64;

/// The length of a socket's backlog. As in PHP-FPM, -1 means the system's maximum.
struct Backlog {
  static Result<void> put(int& target, const std::string& value);
  static Shown show(int backlog) { return {std::to_string(backlog)}; }
};

/// A size in bytes, at least 1: a number, optionally with the suffix K, M or G (powers of 1024).
struct Size {
  static Result<void> put(std::uint64_t& target, const std::string& value);
  static Shown show(std::uint64_t size);
};

/// A duration: a number of seconds, or a number with the suffix ms, s, m, h or d.
struct Duration {
  static Result<void> put(std::chrono::milliseconds& target, const std::string& value);
  static Shown show(std::chrono::milliseconds time);
};

/// A duration that is not 0.
struct Timeout : Duration {
  static Result<void> put(std::chrono::milliseconds& target, const std::string& value);
};

/// yes or no, on or off, true or false, 1 or 0.
struct Switch {
  static Result<void> put(bool& target, const std::string& value);
  static Shown show(bool is_on) { return {is_on ? "yes" : "no"}; }
};

/// One of the words in CHOICES, an array of pairs of a word and its value.
template <const auto& choices>
struct Choice {
  static Result<void> put(auto& target, const std::string& value) {
    std::string words;
    for (const auto& [word, meaning] : choices) {
      if (word == value) {
        target = meaning;
        return {};
      }
      words.append(words.empty() ? "" : ", ").append(word);
    }
    return fail(ErrorCode::kInvalid, "\"" + base::printable(value) + "\" is not one of " + words);
  }
  static Shown show(const auto& value) {
    for (const auto& [word, meaning] : choices) {
      if (meaning == value) return {std::string(word)};
    }
    return {};
  }
};

/// An octal file mode, 0 to 0777.
struct Mode {
  static Result<void> put(mode_t& target, const std::string& value);
  static Shown show(mode_t mode);
};

/// Any text. An empty text means that the directive is not set.
struct Text {
  static Result<void> put(std::string& target, const std::string& value) {
    target = value;
    return {};
  }
  static Shown show(const std::string& text) { return text.empty() ? Shown() : Shown{text}; }
};

struct Path : Text {
  static bool is_relative(std::string_view value) {
    return !value.empty() && !value.starts_with('/');
  }
  static Result<void> put(auto& target, const std::string& value) {
    return master::put(target, parse_path(value));
  }
};

/// A list of absolute paths, one per line.
struct Paths {
  static Result<void> put(std::vector<std::string>& target, const std::string& value);
  static Shown show(const std::vector<std::string>& paths) { return paths; }
};

struct LogTarget {
  static Result<void> put(base::LogOptions& log, const std::string& value) {
    return base::set_log_target(log, value);
  }
  static Shown show(const base::LogOptions& log) { return {base::log_target_of(log)}; }
  static bool is_relative(std::string_view value);
};

/// The path of an access log, or destination:NAME.
struct AccessLogTarget : Path {
  static bool is_relative(std::string_view value);
  static Result<void> put(std::string& target, const std::string& value);
};

/// A facility of syslog(3).
struct Facility {
  static Result<void> put(int& target, const std::string& value);
  static Shown show(int facility) { return {std::string(base::syslog_facility_name(facility))}; }
};

/// The URL path of a page. As in PHP-FPM, the path is a slash, followed by at least one letter,
/// digit or character of / _ - . ~
struct PagePath : Text {
  static Result<void> put(std::string& target, const std::string& value);
};

struct ListenAddress {
  static Result<void> put(std::optional<base::SocketAddress>& target, const std::string& value);
  static Shown show(const std::optional<base::SocketAddress>& address) {
    return address ? Shown{address->str()} : Shown();
  }
  static bool is_relative(std::string_view value) {
    return value.find('/') != std::string_view::npos && !value.starts_with('/');
  }
};

struct IpAddresses {
  static Result<void> put(std::vector<base::SocketAddress>& target, const std::string& value);
  static Shown show(const std::vector<base::SocketAddress>& addresses);
};

/// IP addresses and networks (ADDRESS/BITS), separated by commas. The entries are stored as text.
struct Networks {
  static Result<void> put(std::vector<std::string>& target, const std::string& value);
  static Shown show(const std::vector<std::string>& networks);
};

/// A scheduling priority for setpriority(2).
struct Priority {
  static Result<void> put(std::optional<int>& target, const std::string& value);
  static Shown show(std::optional<int> priority) {
    return priority ? Shown{std::to_string(*priority)} : Shown();
  }
};

/// The size limit of a core file: a number, or "unlimited".
struct CoreLimit {
  static Result<void> put(std::optional<std::uint64_t>& target, const std::string& value);
  static Shown show(std::optional<std::uint64_t> limit);
};

}  // namespace quarry::master
