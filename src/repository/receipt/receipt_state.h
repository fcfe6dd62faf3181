// The state of a write transaction, shared by the parts of Receipt.
#pragma once

#include <vector>

#include "repository_state.h"

namespace quarry::repository {

/// While this object exists, commits in WAL mode are not synced to the disk. SQLite does not allow
/// this change inside a transaction, so the object must be created before the transaction and
/// destroyed after it.
class UnsyncedCommits {
 public:
  explicit UnsyncedCommits(RepositoryState& repository) : database_(repository.database) {
    database_.execute("PRAGMA synchronous=NORMAL");
  }
  ~UnsyncedCommits() { database_.execute("PRAGMA synchronous=FULL"); }
  UnsyncedCommits(const UnsyncedCommits&) = delete;
  UnsyncedCommits& operator=(const UnsyncedCommits&) = delete;

 private:
  Database& database_;
};

struct Receipt::State {
  // Size of the cache of expanded artifacts, in bytes. The cache usually contains the source of the
  // next delta.
  static constexpr std::size_t kCacheSize = std::size_t{64} << 20;

  explicit State(Repository::State& repository,
                 std::unique_ptr<UnsyncedCommits> unsynced_commits = nullptr)
      : r(repository), unsynced(std::move(unsynced_commits)), transaction(repository.database) {
    r.refresh();
    r.contents.set_cache_size(kCacheSize);
  }
  ~State() {
    if (!committed) {
      // Clear the caches, because they might contain data from the transaction that is rolled back.
      r.derivation.forget_pending();
      r.forget();
    }
    r.manifests.forget_all();
    r.contents.set_cache_size(r.options.content_cache_size);
  }
  State(const State&) = delete;
  State& operator=(const State&) = delete;

  Rid receipt_id();
  /// Fails with kDenied if the `hash-policy` setting rejects NAME.
  Result<void> admit(const artifact::HashName& name);
  Rid write_row(Rid rid, const artifact::HashName& name, std::int64_t size, std::string_view stored,
                Rid source, bool is_private);
  Rid store_content(Rid rid, const Arrival& arrival, Content content, std::string_view stored,
                    Rid source);
  /// Makes a private artifact public. If it is a check-in, the files that it changed become public
  /// too.
  void publish(Rid rid);
  void became_available(Rid rid, const Content& content);
  void resolve_waiting(Rid rid);
  void back_to_phantom(Rid rid);
  /// Returns the reason to reject CONTENT, or nullopt if CONTENT is harmless. Content is rejected
  /// if fossil 2.21 could no longer rebuild or clone a repository that contains it.
  std::optional<std::string_view> harm_of(std::string_view content);
  /// Returns whether harm_of() needs to be called for CONTENT. This is a fast check.
  static bool may_do_harm(std::string_view content);
  bool is_change_of_other(const artifact::TagCard& tag);
  bool is_shunned(std::string_view name);
  Result<void> publish_if_proven(Rid rid, const Arrival& arrival);
  class Storing;  // defined in store_artifact.cc
  Result<Rid> make_cluster(std::vector<artifact::HashName> members);

  // defined in kept_artifacts.cc:
  Result<std::int64_t> size_of_kept(const Arrival& arrival);
  void note_source(Rid rid, const artifact::HashName& source);
  bool connect_kept();
  Result<void> verify_all(const CompletionWatch& watch);

  Repository::State& r;
  std::unique_ptr<UnsyncedCommits> unsynced;  // null if the commit is synced
  Transaction transaction;
  Sender sender;
  Rid receipt = 0;
  std::optional<artifact::HashAlgorithm> kept_algorithm;  // of the last kept artifact
  bool has_published = false;
  bool committed = false;
};

}  // namespace quarry::repository
