// Parses and formats values of configuration directives. Every error message says what is valid.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "quarry/base/result.h"
#include "quarry/base/socket.h"

namespace quarry::master {

/// A whole number from LEAST to MAX.
base::Result<std::uint64_t> parse_number(std::string_view text, std::uint64_t least,
                                         std::uint64_t max);
/// Bytes: a number, with K, M or G for its binary multiples. At least 1.
base::Result<std::uint64_t> parse_size(std::string_view text);
/// Seconds: a number, with ms, s, m, h or d.
base::Result<std::chrono::milliseconds> parse_duration(std::string_view text);
/// yes or no, on or off, true or false, 1 or 0.
base::Result<bool> parse_bool(std::string_view text);
/// An octal file mode, 0 to 0777.
base::Result<mode_t> parse_mode(std::string_view text);
/// IP addresses, separated by commas.
base::Result<std::vector<base::SocketAddress>> parse_addresses(std::string_view text);
/// IP addresses and networks (ADDRESS/BITS), separated by commas; returned as written.
base::Result<std::vector<std::string>> parse_networks(std::string_view text);
/// Splits TEXT at commas and drops surrounding spaces and empty entries.
std::vector<std::string> split_list(std::string_view text);
/// The URL path of a page. As in PHP-FPM: a slash, then at least one letter, digit or one of
/// / _ - . ~
base::Result<std::string> parse_page_path(std::string_view text);
/// A scheduling priority for setpriority(2).
base::Result<int> parse_priority(std::string_view text);
/// The limit of a core file: a number, or "unlimited".
base::Result<std::uint64_t> parse_core_limit(std::string_view text);
/// An absolute path.
base::Result<std::string> parse_path(std::string_view text);

/// Formats that parse_size(), parse_duration() and parse_mode() accept.
std::string shown_size(std::uint64_t size);
std::string shown_duration(std::chrono::milliseconds time);
std::string shown_mode(mode_t mode);

}  // namespace quarry::master
