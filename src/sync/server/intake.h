// Stores the content of a push: artifacts, and names of artifacts that the client has.
//
// The first pass over a request does not have a Receipt. At the first card that has to be stored,
// needs_receipt() becomes true, and the pass is restarted with a Receipt. Used by Exchange.
#pragma once

#include <cstdint>
#include <string_view>

#include "cards/card_reader.h"
#include "cards/name_list.h"
#include "quarry/artifact/hash_name.h"
#include "quarry/repository/repository.h"
#include "sync_user.h"

namespace quarry::sync {

/// Flags of names that the client mentions.
inline constexpr std::uint8_t kMentionPublic = 1;  // set for `igot H`, not for `igot H 1`
inline constexpr std::uint8_t kMentionKnown = 2;   // stored here, or part of this request

class Intake {
 public:
  /// The arguments are not owned, and must outlive this object. RECEIPT is null in the first pass.
  /// ADDRESS is the address of the client.
  Intake(repository::Repository& repository, repository::Receipt* receipt,
         const SyncUser& sync_user, std::string_view address)
      : repository_(repository), receipt_(receipt), sync_user_(sync_user), address_(address) {}

  bool needs_receipt() const { return needs_receipt_; }
  /// Returns the receipt for storing data. In the first pass, returns null, and the pass has to be
  /// restarted with a receipt.
  repository::Receipt* receipt();
  /// Calls WORK with the receipt, unless it is null. WORK returns whether it changed data that
  /// other programs might want to know about. Passes on errors from WORK.
  template <typename Work>
  Result<void> store(Work work) {
    repository::Receipt* const into = receipt();
    if (into == nullptr) return {};
    QUARRY_TRY_ASSIGN(const bool is_news, work(*into));
    has_news_ = has_news_ || is_news;
    return {};
  }
  /// Like store(), but for internal data of the sync protocol, which is not counted as a change.
  template <typename Work>
  Result<void> record(Work work) {
    repository::Receipt* const into = receipt();
    if (into == nullptr) return {};
    return work(*into);
  }
  /// Returns the private artifacts that the client named in public `igot` cards. Each of them
  /// becomes public only when the client sends its content, which proves that the client has the
  /// artifact.
  const std::vector<artifact::HashName>& to_be_proven() const { return to_be_proven_; }
  std::uint64_t stored() const { return stored_; }
  /// Returns whether this request changed data that other programs might want to know about.
  bool has_news() const { return has_news_; }

  /// Processes a file or cfile card. Errors: kInvalid (malformed, or the content does not match its
  /// hash), errors from Receipt::store().
  Result<void> file(const CardReader& card, bool is_private);
  /// Creates phantoms for unknown names in MENTIONED, which must be sealed. Makes private artifacts
  /// public if the client names them as public and has the necessary right.
  Result<void> mention(NameList& mentioned);

  /// Returns the sender for a receipt, with the details that are known so far.
  repository::Sender sender() const;

 private:
  Result<void> mention_one(const artifact::HashName& name, bool is_private);

  repository::Repository& repository_;
  repository::Receipt* receipt_;
  const SyncUser& sync_user_;
  std::string_view address_;
  bool has_set_sender_ = false;
  bool needs_receipt_ = false;
  bool has_news_ = false;
  std::uint64_t stored_ = 0;
  std::vector<artifact::HashName> to_be_proven_;
};

}  // namespace quarry::sync
