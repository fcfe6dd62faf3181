// What a client pushes: what it has never sent, what the server asks for, and the names of what it
// has. Used by ClientSession.
#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <string_view>
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
  /// None is owned. WITH_PRIVATE: private artifacts are named and sent as well. CATALOGUE: all that
  /// is here is named, not only what no cluster names.
  ClientOffer(repository::Repository& repository, bool with_private, bool catalogue);

  /// Writes `file` and `igot` cards into one request, up to about its `max-upload`. In a Snapshot.
  base::Result<void> write(CardWriter& writer);
  /// Whether there is more to be written: something to send, or names of the catalogue.
  bool has_more();

  // --- what the reply says ---------------------------------------------------------------------

  /// The server has NAME.
  void has(const artifact::HashName& name) { remote_has_.insert(name); }
  /// The server asks for NAME.
  void asked_for(const artifact::HashName& name);
  /// The request was accepted: what it sent is unsent no longer.
  const std::vector<artifact::HashName>& sent_of_unsent() const { return sent_of_unsent_; }
  void accepted() { sent_of_unsent_.clear(); }

  std::uint64_t sent() const { return sent_; }

 private:
  std::optional<artifact::HashName> source_to_send(const artifact::HashName& name);
  base::Result<void> find_chain(const artifact::HashName& name);
  base::Result<bool> send(CardWriter& writer, const artifact::HashName& name);
  base::Result<void> send_one(CardWriter& writer, const artifact::HashName& name);
  base::Result<void> send_unsent(CardWriter& writer);
  base::Result<void> send_asked(CardWriter& writer);
  bool is_to_name(const artifact::HashName& name);
  void name_unclustered(CardWriter& writer);
  base::Result<void> name_all(CardWriter& writer);
  bool is_full(const CardWriter& writer) const { return writer.size() >= max_upload_; }

  repository::Repository& repository_;
  bool with_private_;
  bool catalogue_;
  std::size_t max_upload_;
  std::uint64_t sent_ = 0;
  bool unsent_was_read_ = false;
  std::vector<artifact::HashName> unsent_;  // not sent yet, last first
  std::deque<artifact::HashName> asked_;
  std::unordered_set<artifact::HashName> asked_for_;  // and not sent since
  std::unordered_set<artifact::HashName> named_;
  // An artifact to send, what it is made from, and so on, as far as it was not sent: longer chains
  // than one request has room for are walked once.
  std::vector<artifact::HashName> chain_;
  std::vector<artifact::HashName> all_;  // of the catalogue, last first
  std::vector<artifact::HashName> sent_of_unsent_;
  std::unordered_map<artifact::HashName, int> times_sent_;
  std::unordered_set<artifact::HashName> remote_has_;
};

}  // namespace quarry::sync
