// Values of configuration directives, read and written. Every error says what would have been
// right.
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
/// IP addresses and networks (ADDRESS/BITS), separated by commas, as they are written.
base::Result<std::vector<std::string>> parse_networks(std::string_view text);
/// What stands between commas, without spaces around it and without empty entries.
std::vector<std::string> split_list(std::string_view text);
/// The path of a page in a URL: as PHP-FPM allows it, a slash, then at least one letter, digit or
/// one of / _ - . ~
base::Result<std::string> parse_page_path(std::string_view text);
/// Scheduling priority, as setpriority(2) takes it.
base::Result<int> parse_priority(std::string_view text);
/// The limit of a core file: a number, or "unlimited".
base::Result<std::uint64_t> parse_core_limit(std::string_view text);
/// An absolute path.
base::Result<std::string> parse_path(std::string_view text);

/// As parse_size(), parse_duration() and parse_mode() read them.
std::string shown_size(std::uint64_t size);
std::string shown_duration(std::chrono::milliseconds time);
std::string shown_mode(mode_t mode);

}  // namespace quarry::master
