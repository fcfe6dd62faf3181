// Sends artifacts and the names of available artifacts in reply to a pull or a clone.
//
// A reply is full when it is `max-download` bytes long, after `max-download-time` (settings of the
// repository), or after most of a request's time limit. Artifacts that do not fit are only
// announced, and the client requests them again. Private artifacts are sent only in a private
// session. Shunned artifacts are never sent. Used by Exchange.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "cards/bound.h"
#include "cards/card_writer.h"
#include "cards/name_list.h"
#include "quarry/artifact/hash_name.h"
#include "quarry/repository/repository.h"

namespace quarry::sync {

/// The version in `pragma client-version NUMBER DATE TIME`. 0 if the client did not send it.
struct ClientVersion {
  std::uint64_t number = 0;  // 22100 for version 2.21
  std::uint64_t date = 0;    // 20230226

  bool takes_sha3() const { return number >= 20000; }
  bool understands_private_igot() const { return date >= 20200413; }
};

class Supply {
 public:
  /// The arguments are not owned, and must outlive the supply.
  Supply(repository::Repository& repository, const Bound& bound, CardWriter& writer)
      : repository_(repository), bound_(bound), writer_(writer) {}

  /// Call before any other function.
  void set_client(const ClientVersion& client, bool private_session) {
    client_ = client;
    private_session_ = private_session;
  }

  /// Answers `clone` without arguments: sends this server's codes, and the names of all artifacts.
  Result<void> clone_by_name();
  /// Answers `clone VERSION FIRST`. Sends this server's codes, the artifacts from row id FIRST on,
  /// and the row id at which the next request has to continue. Includes private artifacts in a
  /// private session. Errors: kInvalid (the client is too old for this repository), errors from
  /// reading.
  Result<void> clone(std::uint64_t version, repository::Rid first);
  /// Answers `clone VERSION FIRST` if another host has sent a part of the clone. The row ids of the
  /// hosts differ, and so do their deltas: a delta of each host on an artifact of the other could
  /// form a cycle. Therefore, the first reply IS_FIRST contains the names of all artifacts, the
  /// client then requests those that it lacks, and each requested artifact is sent without sources
  /// that the client might lack. Call after answer_wanted().
  Result<void> continue_clone(bool is_first, NameList& client_has);
  /// Processes a `gimme` card.
  void want(std::string_view name) { wanted_.add(name); }
  /// Answers all `gimme` cards. The artifacts in CLIENT_HAS, which must be sealed, are used as
  /// sources of deltas.
  Result<void> answer_wanted(NameList& client_has);
  std::size_t wanted() const { return wanted_.size(); }
  /// Returns whether the client requested NAME, and therefore does not have it. Call after
  /// answer_wanted().
  bool was_wanted(std::string_view name) { return wanted_.find(name) != nullptr; }
  /// Sends `igot` for every unclustered artifact, except artifacts in CLIENT_HAS and artifacts sent
  /// in this reply.
  void announce(NameList& client_has);
  /// Like announce(), but for every artifact. Passes on errors from reading.
  Result<void> announce_all(NameList& client_has);
  /// Like announce(), but for the clusters, which contain the names of all other artifacts.
  void announce_clusters(NameList& client_has);

  bool is_full();
  /// Fails with kInvalid if the client is too old for the hash algorithm of NAME.
  Result<void> check_age(const artifact::HashName& name) const;
  /// Counts an artifact that the caller has sent. A reply is never full before it
  /// contains an artifact.
  void count_sent() { ++sent_; }

  std::uint64_t sent() const { return sent_; }

 private:
  struct Found {
    repository::Rid rid;
    artifact::HashName name;
    bool is_private;
  };

  Result<void> answer(const Found& found, NameList::Entry& wanted, NameList& client_has);
  Result<void> send(const Found& found, NameList& client_has);
  void announce(const artifact::HashName& name, bool is_private, NameList& client_has);
  Result<void> send_stored(const repository::StoredArtifact& stored, bool compressed);
  Result<void> send_private(const Found& found);
  Result<void> send_whole(repository::Rid rid, std::string_view name);
  /// Returns the private artifacts with content, beginning with row id FIRST. Returns an empty list
  /// if the session is not private.
  std::vector<Found> private_from(repository::Rid first);
  /// Returns whether a cloning client has SOURCE or will receive it. If so, artifacts can be sent
  /// to the client as deltas on SOURCE.
  bool is_cloned_source(const artifact::HashName& source);
  /// Returns whether a delta might have been reversed: an earlier reply sent SOURCE as a delta on
  /// an artifact, and this artifact is now stored as a delta on SOURCE.
  bool may_be_reversed(const artifact::HashName& source);

  repository::Repository& repository_;
  const Bound& bound_;
  CardWriter& writer_;
  ClientVersion client_;
  bool private_session_ = false;
  NameList wanted_;
  std::uint64_t sent_ = 0;
  bool named_all_ = false;
  // Limits from the repository's settings, which are read before the first artifact is sent.
  std::size_t max_download_ = 0;
  Bound::Time deadline_;
  bool is_time_up_ = false;
  std::optional<bool> has_private_;
  /// First row id of this part of a clone, or 0 if no deltas have been reversed recently (see
  /// may_be_reversed()).
  repository::Rid first_ = 0;
};

}  // namespace quarry::sync
