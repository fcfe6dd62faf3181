#include "quarry/repository/repository_name.h"

#include <algorithm>
#include <array>

#include "quarry/base/ascii.h"
#include "quarry/base/split.h"

namespace quarry::repository {
namespace {

constexpr std::size_t kMaxLength = 200;
constexpr std::size_t kMaxDepth = 16;

bool is_segment(std::string_view segment) {
  if (segment.empty() || segment.front() == '-') return false;
  for (std::size_t i = 0; i < segment.size(); ++i) {
    const char c = segment[i];
    if (base::is_ascii_alphanumeric(c) || c == '_' || c == '-') continue;
    const bool is_inner_dot = c == '.' && i > 0 && i + 1 < segment.size() &&
                              base::is_ascii_alphanumeric(segment[i - 1]) &&
                              base::is_ascii_alphanumeric(segment[i + 1]);
    if (!is_inner_dot) return false;
  }
  return true;
}

std::string_view trim_slashes(std::string_view path) {
  while (path.starts_with('/')) path.remove_prefix(1);
  while (path.ends_with('/')) path.remove_suffix(1);
  return path;
}

/// Returns whether a segment of PATH is "." or "..".
bool has_dot_segment(std::string_view path) {
  while (!path.empty()) {
    const std::string_view segment = base::take_until(path, '/');
    if (segment == "." || segment == "..") return true;
  }
  return false;
}

}  // namespace

bool is_endpoint(std::string_view word) {
  constexpr std::array<std::string_view, 4> kReserved = {"xfer", "queue", "status", "ping"};
  return std::ranges::find(kReserved, word) != kReserved.end();
}

std::optional<RepositoryName> RepositoryName::parse(std::string_view text) {
  if (text.empty() || text.size() > kMaxLength) return std::nullopt;
  std::string_view rest = text;
  for (std::size_t depth = 0;; ++depth) {
    const std::size_t slash = rest.find('/');
    if (depth == kMaxDepth || !is_segment(rest.substr(0, slash))) return std::nullopt;
    if (slash == std::string_view::npos) return RepositoryName(text);
    rest.remove_prefix(slash + 1);
  }
}

std::uint32_t number_of(std::string_view name) {
  // The 32-bit FNV-1a hash.
  std::uint32_t hash = 2166136261U;
  for (const char c : name) hash = (hash ^ static_cast<unsigned char>(c)) * 16777619U;
  return hash;
}

std::vector<NameCandidate> names_in(std::string_view path) {
  path = trim_slashes(path);
  if (has_dot_segment(path)) return {};
  std::vector<NameCandidate> before_endpoint;
  std::vector<NameCandidate> others;
  for (std::size_t depth = 0, end = 0; depth < kMaxDepth && end < path.size(); ++depth) {
    end = std::min(path.find('/', end + (depth == 0 ? 0 : 1)), path.size());
    auto name = RepositoryName::parse(path.substr(0, end));
    if (!name) break;  // longer prefixes are not valid names either
    const std::string_view rest = trim_slashes(path.substr(end));
    const bool has_endpoint = is_endpoint(rest.substr(0, rest.find('/')));
    auto& list = has_endpoint ? before_endpoint : others;
    list.push_back({std::move(*name), rest, has_endpoint});
  }
  std::ranges::reverse(others);
  std::ranges::move(others, std::back_inserter(before_endpoint));
  return before_endpoint;
}

}  // namespace quarry::repository
