// The name under which a repository in a folder is served: NAME, or A/B/NAME if it is in a
// subfolder.
//
// Names follow Fossil's rule for URLs (fossil help server). Only letters, digits, "_", "-", "." and
// "/" are allowed. A "-" must not follow a "/", and both neighbours of a "." must be letters or
// digits. Therefore, a name cannot contain "..", refer to a hidden file, look like an option, or
// contain an escape sequence.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace quarry::repository {

class RepositoryName {
 public:
  /// Parses TEXT, which must not begin or end with a slash. Returns nullopt if TEXT is not a valid
  /// name or is too long.
  static std::optional<RepositoryName> parse(std::string_view text);

  const std::string& str() const { return text_; }
  /// Returns the path of the file, relative to the folder.
  std::string file() const { return text_ + ".fossil"; }

  friend bool operator==(const RepositoryName&, const RepositoryName&) = default;

 private:
  explicit RepositoryName(std::string_view text) : text_(text) {}
  std::string text_;
};

/// Returns the number of the repository NAME ("" for a pool's only repository), which is a hash of
/// NAME. Workers send this number to the master because the master does not accept names. If several
/// names have the same number, the master checks all these repositories for background work.
std::uint32_t number_of(std::string_view name);

/// A possible repository name at the beginning of a path, and the rest of the path.
struct NameCandidate {
  RepositoryName name;
  std::string_view rest;  // "" or "xfer", "xfer/more"
  /// Whether the rest begins with a reserved word, that is, an endpoint.
  bool has_endpoint = false;
};

/// Returns all candidates for PATH, in the order in which to try them. Names before a reserved word
/// come first, the shortest one first. The other names follow, the longest one first. Returns an
/// empty list if PATH does not begin with a valid name or contains a segment "." or "..". Web
/// servers resolve these segments before they forward a request, so such a path is suspicious.
std::vector<NameCandidate> names_in(std::string_view path);

/// Returns whether WORD is reserved after the name of a repository: xfer, queue, status or ping.
bool is_endpoint(std::string_view word);

}  // namespace quarry::repository
