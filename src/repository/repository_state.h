// The state of an open repository: the connection, and data that is cached until the file changes.
#pragma once

#include <sys/types.h>

#include <map>
#include <optional>
#include <string>
#include <unordered_set>
#include <vector>

#include "derived/common/manifests.h"
#include "derived/derivation.h"
#include "quarry/repository/repository.h"
#include "store/content_expansion.h"
#include "store/database.h"
#include "store/names.h"
#include "store/private_artifacts.h"
#include "store/write_ahead_log.h"

namespace quarry::repository {

struct RepositoryState {
  RepositoryState(std::filesystem::path file, const OpenOptions& open_options);
  ~RepositoryState();
  bool was_replaced() const;

  /// Returns a number that identifies the file to other processes.
  std::uint64_t number() const;
  /// See Repository::keep_log_short().
  void keep_log_short();
  /// Waits at the checkpoint barrier. Call this function before a transaction begins.
  void wait_for_checkpoint();

  /// Clears the caches if another connection has changed the file. Use inside a transaction.
  void refresh();
  /// Clears all caches.
  void forget();
  /// Returns the artifacts for which is_waiting() is true.
  const std::unordered_set<Rid>& waiting_ones();

  std::filesystem::path path;
  OpenOptions options;
  dev_t device = 0;
  ino_t inode = 0;
  Database database;
  WriteAheadLog log;
  SingleProcessBarrier single_process_barrier;
  ContentExpansion contents;
  PrivateArtifacts privacy;
  Names names;
  Manifests manifests;
  Derivation derivation;

  /// A file of SQLite next to the repository (-wal or -shm), as it was when the repository was
  /// opened.
  struct Companion {
    std::filesystem::path path;
    ino_t inode;
  };
  std::vector<Companion> companions;  // -wal and -shm
  /// The files that this process was not allowed to write when the repository was opened.
  std::vector<std::filesystem::path> unwritable;

  std::uint64_t epoch = 1;  // number of detected changes, by this process or others
  std::int64_t data_version = -1;
  std::map<std::string, std::optional<std::string>, std::less<>> settings;
  std::map<std::string, std::optional<User>, std::less<>> users;
  std::optional<std::vector<artifact::HashName>> unclustered;
  std::optional<bool> has_shunned;
  std::optional<std::unordered_set<Rid>>
      waiting;  // see is_waiting(); a Receipt keeps it up to date
  std::optional<std::string> unversioned_hash;
  bool wants_checkpoint = false;
  std::string project_code;
  std::string server_code;
};

/// Calls FUNCTION with STATE, or its database, and converts a SqliteError that FUNCTION throws into
/// an Error (see database.h).
template <typename Function>
auto guarded(RepositoryState& state, Function&& function) {
  return guarded(state.path, [&] {
    if constexpr (std::is_invocable_v<Function, RepositoryState&>) {
      return function(state);
    } else {
      return function(state.database);
    }
  });
}

}  // namespace quarry::repository
