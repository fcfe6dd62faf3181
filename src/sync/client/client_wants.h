// What a client lacks, and what it has asked for: a phantom is asked for until it comes, or until
// the server has passed over it. Used by ClientSession.
#pragma once

#include <cstddef>
#include <unordered_set>
#include <vector>

#include "cards/card_writer.h"
#include "quarry/artifact/hash_name.h"
#include "quarry/repository/repository.h"

namespace quarry::sync {

class ClientWants {
 public:
  /// REPOSITORY is not owned.
  ClientWants(repository::Repository& repository, bool with_private)
      : repository_(repository), with_private_(with_private) {}

  /// Whether there is a phantom that the server was not found to lack.
  bool any();
  /// Writes `gimme` for phantoms, as many as the server is likely to answer at once.
  void ask(CardWriter& writer);

  // --- what the reply brings -------------------------------------------------------------------

  /// NAME has come.
  void came(const artifact::HashName& name);
  /// The server has NAME: there was no room for it, or it was not asked for.
  void promised(const artifact::HashName& name) { promised_.insert(name); }
  /// The reply has ended: what was asked for and neither came nor was promised is not to be had.
  void finish_reply();

 private:
  std::vector<artifact::HashName> missing(std::size_t limit);

  repository::Repository& repository_;
  bool with_private_;
  std::size_t at_once_ = 200;
  std::size_t came_count_ = 0;
  std::unordered_set<artifact::HashName> asked_;  // in the last request
  std::unordered_set<artifact::HashName> promised_;
  std::unordered_set<artifact::HashName> not_to_be_had_;
};

}  // namespace quarry::sync
