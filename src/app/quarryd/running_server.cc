#include "running_server.h"

#include <arpa/inet.h>
#include <fmt/core.h>
#include <netinet/in.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <cstring>
#include <fstream>
#include <iterator>
#include <optional>
#include <set>
#include <sstream>
#include <string_view>

#include "quarry/base/socket.h"
#include "quarry/master/pid_file.h"

namespace quarry::app {
namespace {

namespace fs = std::filesystem;

using base::SocketAddress;

constexpr std::string_view kServiceManager = "systemd";

std::string first_line_of(const fs::path& path) {
  std::ifstream file(path);
  std::string line;
  std::getline(file, line);
  return line;
}

std::vector<std::string> words_of(const fs::path& process) {
  std::ifstream file(process / "cmdline", std::ios::binary);
  std::vector<std::string> words;
  for (std::string word; std::getline(file, word, '\0');) words.push_back(word);
  return words;
}

/// What is in FOLDER, as far as it can be read.
std::vector<fs::path> entries_of(const fs::path& folder) {
  std::vector<fs::path> found;
  std::error_code error;
  fs::directory_iterator entry(folder, error);
  for (; !error && entry != fs::directory_iterator(); entry.increment(error)) {
    found.push_back(entry->path());
  }
  return found;
}

/// What follows -c in WORD, where flags may stand before it (-Dc FILE); nothing: it is not there.
std::optional<std::string> after_short_config(const std::string& word) {
  constexpr std::string_view kFlags = "DFht";  // quarryd's that have no value
  const std::size_t at = word.starts_with('-') ? word.find_first_not_of(kFlags, 1) : word.npos;
  if (at == word.npos || word[at] != 'c') return std::nullopt;
  return word.substr(at + 1);
}

/// The configuration file that PROCESS, a quarryd, was started with; "" for none.
fs::path config_of(const fs::path& process) {
  constexpr std::string_view kLong = "--config";
  const auto words = words_of(process);
  std::string found;
  for (std::size_t i = 1; i < words.size(); ++i) {
    const std::string& word = words[i];
    const auto joined = after_short_config(word);
    const bool is_next = word == kLong || joined == "";
    if (is_next && i + 1 < words.size()) {
      found = words[i + 1];
    } else if (word.starts_with(std::string(kLong) + "=")) {
      found = word.substr(kLong.size() + 1);
    } else if (joined && !is_next) {
      found = *joined;
    }
  }
  // Relative to where it runs, where that may be seen.
  return found.empty() ? fs::path() : process / "cwd" / found;
}

bool is_same_file(const fs::path& one, const fs::path& other) {
  std::error_code error;
  return !one.empty() && fs::equivalent(one, other, error) && !error;
}

/// Those of /proc whose place a start takes.
std::vector<fs::path> predecessors(const fs::path& config, const std::string& pid_file) {
  const std::string name = first_line_of("/proc/self/comm");
  const std::string in_pid_file = std::to_string(master::running_process_of(pid_file));
  const std::string self = std::to_string(::getpid());
  std::vector<fs::path> found;
  for (const fs::path& process : entries_of("/proc")) {
    const std::string number = process.filename();
    const bool is_process =
        std::ranges::all_of(number, [](char c) { return c >= '0' && c <= '9'; });
    if (!is_process || number == self) continue;
    const std::string its_name = first_line_of(process / "comm");
    const bool is_manager = number == "1" && its_name == kServiceManager;
    const bool is_server =
        its_name == name && (number == in_pid_file || is_same_file(config_of(process), config));
    if (is_manager || is_server) found.push_back(process);
  }
  return found;
}

/// The numbers by which the kernel's tables of sockets know those that PROCESS holds.
std::set<std::string> sockets_of(const fs::path& process) {
  constexpr std::string_view kSocket = "socket:[";
  std::set<std::string> found;
  std::error_code error;
  for (const fs::path& entry : entries_of(process / "fd")) {
    const std::string target = fs::read_symlink(entry, error);
    if (!target.starts_with(kSocket)) continue;
    found.insert(target.substr(kSocket.size(), target.size() - kSocket.size() - 1));
  }
  return found;
}

/// TEXT as /proc/net/tcp and tcp6 write it: words of the machine's byte order, a colon, the port.
std::optional<SocketAddress> parse_tcp(std::string_view text) {
  constexpr std::size_t kWord = 8;
  const std::size_t colon = text.find(':');
  if (colon != kWord && colon != 4 * kWord) return std::nullopt;
  const auto number = [&](std::size_t at, std::size_t size) {
    std::uint32_t value = 0;
    const std::string_view digits = text.substr(at, size);
    std::from_chars(digits.data(), digits.data() + digits.size(), value, 16);
    return value;
  };
  const in_port_t port = htons(static_cast<std::uint16_t>(number(colon + 1, 4)));
  if (colon == kWord) {
    sockaddr_in in4{};
    in4.sin_family = AF_INET;
    in4.sin_port = port;
    in4.sin_addr.s_addr = number(0, kWord);
    return SocketAddress::of(reinterpret_cast<const sockaddr*>(&in4), sizeof in4);
  }
  sockaddr_in6 in6{};
  in6.sin6_family = AF_INET6;
  in6.sin6_port = port;
  for (std::size_t i = 0; i < 4; ++i) {
    const std::uint32_t word = number(i * kWord, kWord);
    std::memcpy(&in6.sin6_addr.s6_addr[i * 4], &word, sizeof word);
  }
  return SocketAddress::of(reinterpret_cast<const sockaddr*>(&in6), sizeof in6);
}

std::vector<std::string> fields_of(const std::string& line) {
  std::istringstream stream(line);
  return {std::istream_iterator<std::string>(stream), {}};
}

void add_tcp(const fs::path& table, const std::set<std::string>& sockets,
             std::vector<std::string>& found) {
  constexpr std::size_t kLocal = 1;
  constexpr std::size_t kState = 3;
  constexpr std::size_t kInode = 9;
  std::ifstream file(table);
  for (std::string line; std::getline(file, line);) {
    const auto fields = fields_of(line);
    if (fields.size() <= kInode || fields[kState] != "0A" || !sockets.contains(fields[kInode])) {
      continue;
    }
    if (const auto address = parse_tcp(fields[kLocal])) found.push_back(address->str());
  }
}

void add_unix(const fs::path& table, const std::set<std::string>& sockets,
              std::vector<std::string>& found) {
  constexpr std::size_t kFlags = 3;
  constexpr std::size_t kInode = 6;
  std::ifstream file(table);
  for (std::string line; std::getline(file, line);) {
    const auto fields = fields_of(line);
    const std::size_t path = line.find(" /");
    const bool listens = fields.size() > kInode && fields[kFlags] == "00010000";
    if (!listens || path == std::string::npos || !sockets.contains(fields[kInode])) continue;
    found.push_back(line.substr(path + 1));
  }
}

}  // namespace

bool may_have_unseen_sockets() {
  if (::getppid() != 1 || first_line_of("/proc/1/comm") != kServiceManager) return false;
  // Listing the folder needs less than what is in it.
  std::error_code error;
  return fs::read_symlink("/proc/1/fd/0", error).empty();
}

std::vector<std::string> addresses_of_running(const fs::path& config, const std::string& pid_file) {
  std::vector<std::string> found;
  for (const fs::path& process : predecessors(config, pid_file)) {
    const auto sockets = sockets_of(process);
    for (const char* table : {"tcp", "tcp6"}) add_tcp(process / "net" / table, sockets, found);
    add_unix(process / "net" / "unix", sockets, found);
  }
  return found;
}

}  // namespace quarry::app
