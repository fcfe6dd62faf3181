// The name under which a repository in a folder is served: NAME, or A/B/NAME in folders below it.
//
// Fossil's own rule for names in URLs (fossil help server): letters, digits, "_", "-", "." and "/"
// alone; no "-" after a "/", and letters or digits on both sides of every ".". So there is no way
// to write "..", a hidden file, an option, or an escape that something further in might undo.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace quarry::repository {

class RepositoryName {
 public:
  /// TEXT, without slashes around it. Nothing when it is no such name, or too long.
  static std::optional<RepositoryName> parse(std::string_view text);

  const std::string& str() const { return text_; }
  /// Its file, relative to the folder.
  std::string file() const { return text_ + ".fossil"; }

  friend bool operator==(const RepositoryName&, const RepositoryName&) = default;

 private:
  explicit RepositoryName(std::string_view text) : text_(text) {}
  std::string text_;
};

/// What a worker calls the repository NAME to the master ("": the only one of its pool), which takes
/// no names of it. Several names may have one number: then the work of all of them is looked at.
std::uint32_t number_of(std::string_view name);

/// A name that the beginning of a path may mean, and what of the path follows it.
struct NameCandidate {
  RepositoryName name;
  std::string_view rest;  // "" or "xfer", "xfer/more"
  /// The rest begins with a word that after a repository always is an endpoint of it.
  bool has_endpoint = false;
};

/// All that PATH may mean, in the order in which they are to be tried: names before a reserved word
/// (the shortest first, since an endpoint belongs to the repository that it follows), then the
/// others, the longest first. Empty when the path is no way to write any name: web servers resolve
/// "." and ".." before they ask, so that a path that still holds one is up to no good.
std::vector<NameCandidate> names_in(std::string_view path);

/// Whether WORD is reserved after the name of a repository: xfer, queue, status, ping.
bool is_endpoint(std::string_view word);

}  // namespace quarry::repository
