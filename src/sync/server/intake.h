// What a push brings: artifacts, and the names of artifacts that the client has.
//
// Without a Receipt (the first pass over a request) nothing is stored: the first thing that would
// have to be stored raises needs_receipt(), and the pass is begun again with one. Used by Exchange.
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

/// Flags of the names that a client has.
inline constexpr std::uint8_t kMentionPublic = 1;  // igot H; without it, igot H 1
inline constexpr std::uint8_t kMentionKnown = 2;   // it is here, or came with this request

class Intake {
 public:
  /// None is owned; all must outlive the intake. RECEIPT is null in the first pass. ADDRESS is the
  /// client's.
  Intake(repository::Repository& repository, repository::Receipt* receipt,
         const SyncUser& sync_user, std::string_view address);

  bool needs_receipt() const { return needs_receipt_; }
  /// The receipt to store into; null in the first pass, which then is begun again with one.
  repository::Receipt* receipt() { return writable() ? receipt_ : nullptr; }
  /// Private artifacts that the client named as public ones: it may publish them by sending them.
  const std::vector<artifact::HashName>& to_be_proven() const { return to_be_proven_; }
  /// The artifacts that were stored.
  std::uint64_t stored() const { return stored_; }

  /// A file or cfile card. Errors: kInvalid (malformed, or the content is not what its name says)
  /// and what Receipt::store gives.
  base::Result<void> file(const CardReader& card, bool is_private);
  /// Makes phantoms of those names in MENTIONED (sealed) that are not known here; a private
  /// artifact that the client has as a public one becomes public.
  base::Result<void> mention(NameList& mentioned);
  /// Names all that is unclustered in clusters. Only with a receipt.
  base::Result<void> make_clusters();
  /// Tells the hooks to wait for the rest of a push that goes on, or no longer to. Only with a
  /// receipt.
  base::Result<void> set_hook_embargo(bool more_to_come);

  /// Whom a receipt is to name: as far as is known yet.
  repository::Sender sender() const;

 private:
  /// Whether there is a receipt to store into; if not, asks for one.
  bool writable();
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
