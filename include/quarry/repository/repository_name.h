// The name under which a repository in a folder is served: NAME, or A/B/NAME in a subfolder.
//
// Names follow Fossil's rule for URLs (fossil help server): only letters, digits, "_", "-", "." and
// "/"; no "-" after a "/", and a letter or digit on both sides of every ".". So a name cannot
// contain "..", name a hidden file, look like an option, or contain an escape that later code would
// decode.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace quarry::repository {

class RepositoryName {
 public:
  /// Parses TEXT, which must not begin or end with a slash. Returns nullopt if it is not a valid
  /// name, or is too long.
  static std::optional<RepositoryName> parse(std::string_view text);

  const std::string& str() const { return text_; }
  /// The file's path, relative to the folder.
  std::string file() const { return text_ + ".fossil"; }

  friend bool operator==(const RepositoryName&, const RepositoryName&) = default;

 private:
  explicit RepositoryName(std::string_view text) : text_(text) {}
  std::string text_;
};

/// The number by which a worker refers to the repository NAME ("" for a pool's only repository)
/// when it talks to the master, which accepts no names. If several names share a number, the work
/// of all these repositories is checked.
std::uint32_t number_of(std::string_view name);

/// A possible repository name at the beginning of a path, and the rest of the path.
struct NameCandidate {
  RepositoryName name;
  std::string_view rest;  // "" or "xfer", "xfer/more"
  /// Whether the rest begins with a reserved word, which is always an endpoint.
  bool has_endpoint = false;
};

/// All candidates for PATH, in the order in which to try them: first the names before a reserved
/// word, shortest first because an endpoint belongs to the repository that it follows, then the
/// others, longest first. Empty if the path cannot begin with a valid name. A path with "." or ".."
/// never does: web servers resolve them before they forward a request, so such a path is
/// suspicious.
std::vector<NameCandidate> names_in(std::string_view path);

/// Whether WORD has a reserved meaning after the name of a repository: xfer, queue, status, ping.
bool is_endpoint(std::string_view word);

}  // namespace quarry::repository
