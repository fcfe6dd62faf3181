// What a repository says of itself, of its people, and of the project's other repositories: the
// tables `config` and `user`, as far as a sync session asks for them.
//
// Kept in memory until the file changes; references hold until then. Inside a Snapshot or a
// Receipt. All throw where the file cannot be read.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "quarry/artifact/hash_name.h"
#include "quarry/repository/configuration.h"

namespace quarry::repository {

struct RepositoryState;

/// A row of the user table, as far as a login needs it.
struct User {
  std::int64_t uid = 0;
  std::string login;
  std::string secret;        // user.pw: normally SHA1 of PROJECT-CODE/LOGIN/PASSWORD, 40 hex digits
  std::string capabilities;  // letters, not expanded
};

/// Another repository of the project.
struct SyncLink {
  std::string url;
  std::string about;       // JSON
  std::int64_t mtime = 0;  // seconds since 1970
};

class Settings {
 public:
  /// Made by Repository. STATE is not owned.
  explicit Settings(RepositoryState& state) : state_(&state) {}

  /// Cached until the file changes.
  const std::string& project_code();
  const std::string& server_code();
  /// A row of `config`, or nothing.
  std::optional<std::string> get(std::string_view name);
  std::int64_t get_int(std::string_view name, std::int64_t otherwise);
  /// Fossil's reading of on/off, yes/no, true/false, 1/0; OTHERWISE for anything else.
  bool get_bool(std::string_view name, bool otherwise);
  /// Whether the setting `hash-policy` keeps artifacts called NAME out.
  bool shuns_hash_of(const artifact::HashName& name);
  /// What names an artifact that is made here, by the setting `hash-policy`.
  artifact::HashAlgorithm hash_of_own();
  std::optional<User> find_user(std::string_view login);

  /// Calls VISIT for each row of AREAS that has a time of change, in the form of a `config` card.
  void visit_configuration(ConfigAreas areas, const ConfigVisitor& visit);

  /// Other repositories of the project that were heard of within a month; OWN_URL is this one's.
  std::vector<SyncLink> sync_links(std::string_view own_url);

 private:
  RepositoryState* state_;
};

}  // namespace quarry::repository
