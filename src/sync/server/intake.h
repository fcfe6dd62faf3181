// Stores the content of a push: artifacts, and names of artifacts that the client has.
//
// In the first pass over a request there is no Receipt, and nothing is stored: the first attempt to
// store something makes needs_receipt() true, and the pass is restarted with a Receipt. Used by
// Exchange.
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
inline constexpr std::uint8_t kMentionPublic = 1;  // set for `igot H`, not for `igot H 1`
inline constexpr std::uint8_t kMentionKnown = 2;   // present here, or part of this request

class Intake {
 public:
  /// The arguments are not owned, and must outlive this object. RECEIPT is null in the first pass.
  /// ADDRESS is the address of the client.
  Intake(repository::Repository& repository, repository::Receipt* receipt,
         const SyncUser& sync_user, std::string_view address)
      : repository_(repository), receipt_(receipt), sync_user_(sync_user), address_(address) {}

  bool needs_receipt() const { return needs_receipt_; }
  /// The receipt in which to store something. In the first pass it is null, and the pass has to be
  /// restarted with one.
  repository::Receipt* receipt();
  /// Calls WORK with the receipt, if there is one. Errors: those of WORK.
  template <typename Work>
  base::Result<void> store(Work work) {
    if (repository::Receipt* const into = receipt()) QUARRY_TRY(work(*into));
    return {};
  }
  /// Private artifacts that the client named as public. They become public when the client sends
  /// them.
  const std::vector<artifact::HashName>& to_be_proven() const { return to_be_proven_; }
  /// Number of artifacts stored.
  std::uint64_t stored() const { return stored_; }

  /// Processes a file or cfile card. Errors: kInvalid (malformed, or the content does not match its
  /// hash), those of Receipt::store.
  base::Result<void> file(const CardReader& card, bool is_private);
  /// Makes phantoms of unknown names in MENTIONED, which is sealed. A private artifact that is
  /// public at the client becomes public.
  base::Result<void> mention(NameList& mentioned);

  /// The sender for a receipt, as far as it is known yet.
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
