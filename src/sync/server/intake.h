// Stores what a push brings: artifacts, and names of artifacts that the client has.
//
// Without a Receipt (in the first pass over a request) nothing is stored: the first attempt to
// store something sets needs_receipt(), and the pass restarts with one. Used by Exchange.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "cards/card_reader.h"
#include "cards/name_list.h"
#include "quarry/artifact/hash_name.h"
#include "quarry/repository/repository.h"
#include "sync_user.h"

namespace quarry::sync {

/// Flags of names that the client mentions.
inline constexpr std::uint8_t kMentionPublic = 1;  // igot H; otherwise igot H 1
inline constexpr std::uint8_t kMentionKnown = 2;   // present here, or part of this request

class Intake {
 public:
  /// Nothing is owned; all must outlive this. RECEIPT is null in the first pass. ADDRESS is the
  /// client's.
  Intake(repository::Repository& repository, repository::Receipt* receipt,
         const SyncUser& sync_user, std::string_view address)
      : repository_(repository), receipt_(receipt), sync_user_(sync_user), address_(address) {}

  bool needs_receipt() const { return needs_receipt_; }
  /// The receipt to store into; null in the first pass, which then restarts with one.
  repository::Receipt* receipt();
  /// Calls WORK with the receipt, if there is one. Errors: those of WORK.
  template <typename Work>
  base::Result<void> store(Work work) {
    if (repository::Receipt* const into = receipt()) QUARRY_TRY(work(*into));
    return {};
  }
  /// Private artifacts that the client named as public: sending them makes them public.
  const std::vector<artifact::HashName>& to_be_proven() const { return to_be_proven_; }
  /// Number of artifacts stored.
  std::uint64_t stored() const { return stored_; }

  /// Processes a file or cfile card. Errors: kInvalid (malformed, or the content does not match its
  /// hash), those of Receipt::store.
  base::Result<void> file(const CardReader& card, bool is_private);
  /// Makes phantoms of unknown names in MENTIONED (sealed); a private artifact that is public at
  /// the client becomes public.
  base::Result<void> mention(NameList& mentioned);

  /// The sender for a receipt, as far as known yet.
  repository::Sender sender() const;

 private:
  base::Result<void> mention_one(const artifact::HashName& name, bool is_private);

  repository::Repository& repository_;
  repository::Receipt* receipt_;
  const SyncUser& sync_user_;
  std::string_view address_;
  bool has_set_sender_ = false;
  bool needs_receipt_ = false;
  std::uint64_t stored_ = 0;
  std::vector<artifact::HashName> to_be_proven_;
};

}  // namespace quarry::sync
