// The parts of the tables `config` and `user` that a sync session needs: settings, users, and the
// project's other repositories.
//
// Values are cached until the file changes. Returned references are valid until then. Use inside a
// Snapshot or a Receipt. All functions throw if the file cannot be read.
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

/// The columns of a row of `user` that a login needs.
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
  /// Created by Repository. STATE is not owned.
  explicit Settings(RepositoryState& state) : state_(&state) {}

  const std::string& project_code();
  const std::string& server_code();
  /// Returns the value of the row NAME of `config`, or nullopt if the row does not exist.
  std::optional<std::string> get(std::string_view name);
  /// Returns the names of the rows of `config` that begin with PREFIX, sorted. PREFIX must not be
  /// empty.
  std::vector<std::string> names_with(std::string_view prefix);
  std::int64_t get_int(std::string_view name, std::int64_t otherwise);
  /// Returns the value of a boolean setting. Like Fossil, accepts on/off, yes/no, true/false and
  /// 1/0. Returns OTHERWISE for any other value.
  bool get_bool(std::string_view name, bool otherwise);
  /// Returns whether the `hash-policy` setting rejects NAME's hash algorithm.
  bool shuns_hash_of(const artifact::HashName& name);
  /// Returns the hash algorithm for artifacts that are created in this repository, according to the
  /// `hash-policy` setting.
  artifact::HashAlgorithm hash_of_own();
  std::optional<User> find_user(std::string_view login);
  /// Returns the secret in the cookie of LOGIN's login on fossil's web pages. Returns an empty
  /// string if the user is not logged in there, or if the login has expired.
  std::string web_login_of(std::string_view login);
  /// Returns the capability letters of USER, unsorted. The letters u and v add the capabilities of
  /// the users `reader` and `developer`.
  std::string all_capabilities(const User& user);

  /// Calls VISIT for each row of AREAS that has an mtime, in the form of a `config` card.
  void visit_configuration(ConfigAreas areas, const ConfigVisitor& visit);
  /// Like visit_configuration() for all areas, but also visits rows without an mtime. Their MTIME is
  /// NULL. The cards have all columns, including columns that are NULL.
  void visit_whole_configuration(const ConfigVisitor& visit);

  /// Returns other repositories of the project that have synced within the last month. The JSON in
  /// SyncLink::about gets OWN_URL as its member `src`.
  std::vector<SyncLink> sync_links(std::string_view own_url);

 private:
  RepositoryState* state_;
};

}  // namespace quarry::repository
