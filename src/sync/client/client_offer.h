// What a client pushes: artifacts that were never sent before, artifacts that the server requests,
// and the names of its artifacts. Used by ClientSession.
#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "cards/card_writer.h"
#include "quarry/artifact/hash_name.h"
#include "quarry/base/result.h"
#include "quarry/repository/repository.h"

namespace quarry::sync {

class ClientOffer {
 public:
  /// REPOSITORY is not owned. If WITH_PRIVATE is set, private artifacts are also announced and
  /// sent. If CATALOGUE is set, all artifacts are announced, not only unclustered ones. After
  /// MAX_UPLOAD bytes, no more artifacts are added to a request.
  ClientOffer(repository::Repository& repository, bool with_private, bool catalogue,
              std::size_t max_upload)
      : repository_(repository),
        with_private_(with_private),
        catalogue_(catalogue),
        max_upload_(max_upload) {}

  /// Writes `file` and `igot` cards into a request. Use inside a Snapshot.
  Result<void> write(CardWriter& writer);
  /// Returns whether artifacts or names of the catalogue remain for later requests.
  bool has_more();

  // --- while reading the reply -----------------------------------------------------------------

  void has(const artifact::HashName& name) { remote_has_.insert(name); }
  /// Records that the server requests NAME.
  void asked_for(const artifact::HashName& name);
  /// Returns the artifacts in the last request that have to be marked as sent. After marking them,
  /// call accepted().
  const std::vector<artifact::HashName>& sent_of_unsent() const { return sent_of_unsent_; }
  void accepted() { sent_of_unsent_.clear(); }

  std::uint64_t sent() const { return sent_; }

 private:
  std::optional<artifact::HashName> source_to_send(const artifact::HashName& name);
  Result<void> find_chain(const artifact::HashName& name);
  Result<bool> send(CardWriter& writer, const artifact::HashName& name);
  Result<void> send_one(CardWriter& writer, const artifact::HashName& name);
  Result<void> send_unsent(CardWriter& writer);
  Result<void> send_asked(CardWriter& writer);
  bool should_name(const artifact::HashName& name);
  void name_unclustered(CardWriter& writer);
  Result<void> name_all(CardWriter& writer);
  bool is_full(const CardWriter& writer) const { return writer.size() >= max_upload_; }

  repository::Repository& repository_;
  bool with_private_;
  bool catalogue_;
  std::size_t max_upload_;
  std::uint64_t sent_ = 0;
  bool unsent_was_read_ = false;
  std::vector<artifact::HashName> unsent_;  // in reverse order
  std::deque<artifact::HashName> asked_;
  std::unordered_set<artifact::HashName> asked_for_;  // requested, not sent yet
  std::unordered_set<artifact::HashName> named_;
  // An artifact to send, followed by its delta sources that have not been sent yet. The chain is
  // kept so that it is read only once, even if it does not fit in one request.
  std::vector<artifact::HashName> chain_;
  std::vector<artifact::HashName> all_;  // the catalogue, in reverse order
  std::vector<artifact::HashName> sent_of_unsent_;
  std::unordered_map<artifact::HashName, int> times_sent_;
  std::unordered_set<artifact::HashName> remote_has_;
};

}  // namespace quarry::sync
