// What a pull or a clone is given: artifacts, and the names of those that it may ask for.
//
// A reply is full when it has grown to `max-download` bytes or `max-download-time` has passed
// (settings of the repository), or most of the time that a request may take. It then names what it
// has no room for, and the client asks again. Private artifacts are given in a private session
// alone; shunned ones never. Used by Exchange.
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

/// What a client says of itself with `pragma client-version NUMBER DATE TIME`; 0 if it does not.
struct ClientVersion {
  std::uint64_t number = 0;  // 22100 for 2.21
  std::uint64_t date = 0;    // 20230226

  bool takes_sha3() const { return number >= 20000; }
  bool understands_private_igot() const { return date >= 20200413; }
};

class Supply {
 public:
  /// None is owned; all must outlive the supply.
  Supply(repository::Repository& repository, const Bound& bound, CardWriter& writer);

  /// Before anything else.
  void set_client(const ClientVersion& client, bool private_session);

  /// `clone` without arguments: this server's codes and every name.
  base::Result<void> clone_by_name();
  /// `clone VERSION FIRST`: artifacts from row id FIRST on, where to go on, this server's codes.
  /// Private ones come in a private session.
  /// Error: kInvalid (the client is too old for what is here) and what reading gives.
  base::Result<void> clone(std::uint64_t version, repository::Rid first);
  /// A `gimme` card.
  void want(std::string_view name) { wanted_.add(name); }
  /// Answers all `gimme` cards. What is in CLIENT_HAS (sealed) may be the source of a delta.
  base::Result<void> answer_wanted(NameList& client_has);
  std::size_t wanted() const { return wanted_.size(); }
  /// Whether the client asked for NAME, so that it cannot have it. After answer_wanted().
  bool was_wanted(std::string_view name) { return wanted_.find(name) != nullptr; }
  /// `igot` for every unclustered artifact that is not in CLIENT_HAS and was not answered.
  void announce(NameList& client_has);
  /// The same for every artifact there is, so that nothing can be missed. Error: what reading
  /// gives.
  base::Result<void> announce_all(NameList& client_has);
  /// The same for the clusters, by whose names those of all other artifacts can be found.
  void announce_clusters(NameList& client_has);

  /// Whether the reply has no room for more.
  bool is_full();
  /// Whether the client can make sense of NAME at all. Error: kInvalid (it is too old).
  base::Result<void> check_age(const artifact::HashName& name) const;
  /// A thing was sent: from the first one on, a reply may be full.
  void count_sent() { ++sent_; }

  /// How many artifacts were sent.
  std::uint64_t sent() const { return sent_; }

 private:
  struct Found {
    repository::Rid rid;
    artifact::HashName name;
    bool is_private;
  };

  base::Result<void> answer(const Found& found, NameList::Entry& wanted, NameList& client_has);
  base::Result<void> send(const Found& found, NameList& client_has);
  void announce(const artifact::HashName& name, bool is_private, NameList& client_has);
  base::Result<void> send_stored(const repository::StoredArtifact& stored, bool compressed);
  base::Result<void> send_private(const Found& found);
  /// The private artifacts with content from row id FIRST on, in a private session.
  std::vector<Found> private_from(repository::Rid first);
  /// Whether a client that clones has, or will get, SOURCE, and may make something from it.
  bool is_cloned_source(const artifact::HashName& source);
  /// Whether SOURCE came with a reply before, and may be made there from what is made from it now.
  bool may_be_turned(const artifact::HashName& source);

  repository::Repository& repository_;
  const Bound& bound_;
  CardWriter& writer_;
  ClientVersion client_;
  bool private_session_ = false;
  NameList wanted_;
  std::uint64_t sent_ = 0;
  bool named_all_ = false;
  // Read when the first artifact is to be sent.
  std::size_t max_download_ = 0;
  Bound::Time deadline_;
  bool is_late_ = false;
  std::optional<bool> has_private_;
  repository::Rid first_ = 0;  // of this part of the clone; 0: no delta was turned round lately
};

}  // namespace quarry::sync
