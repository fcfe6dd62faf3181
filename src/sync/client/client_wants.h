// The phantoms that a client requests. A phantom is requested until it arrives or turns out to be
// unavailable. Used by ClientSession.
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

  /// Returns whether the server might have any of the remaining phantoms.
  bool any();
  /// Writes `gimme` cards for about as many phantoms as the server can send in one reply.
  void ask(CardWriter& writer);

  // --- while reading the reply -----------------------------------------------------------------

  void came(const artifact::HashName& name);
  /// Records that the server has NAME but has not sent it, because the reply was full or NAME was
  /// not requested.
  void promised(const artifact::HashName& name) { promised_.insert(name); }
  /// Call at the end of a reply. Marks requested artifacts as unavailable if they have neither
  /// arrived nor been promised.
  void finish_reply();

 private:
  std::vector<artifact::HashName> missing(std::size_t limit);

  repository::Repository& repository_;
  bool with_private_;
  std::size_t at_once_ = 200;
  std::size_t came_count_ = 0;
  std::unordered_set<artifact::HashName> asked_;  // names in the last request
  std::unordered_set<artifact::HashName> promised_;
  std::unordered_set<artifact::HashName> unavailable_;
};

}  // namespace quarry::sync
