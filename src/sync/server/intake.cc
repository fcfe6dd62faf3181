#include "intake.h"

#include <string>

#include "cards/file_card.h"

namespace quarry::sync {
namespace {

using artifact::HashName;
using base::Result;

// Number of unclustered artifacts to read for each name that a client mentions. Looking up one name
// takes about as long as reading two artifacts from the list.
constexpr std::size_t kReadPerMention = 2;

}  // namespace

repository::Sender Intake::sender() const {
  return {
      .uid = sync_user_.uid(), .login_nonce = sync_user_.nonce(), .address = std::string(address_)};
}

repository::Receipt* Intake::receipt() {
  if (receipt_ == nullptr) {
    needs_receipt_ = true;
  } else if (!has_set_sender_) {
    // The sender is set when the receipt is first used, because logins precede the cards for which
    // they are needed.
    receipt_->set_sender(sender());
    has_set_sender_ = true;
  }
  return receipt_;
}

Result<void> Intake::file(const CardReader& card, bool is_private) {
  repository::Receipt* const into = receipt();
  if (into == nullptr) return {};
  QUARRY_TRY_ASSIGN(const repository::Arrival arrival, arrival_of(card, is_private));
  if (repository_.settings().shuns_hash_of(arrival.name)) return {};
  QUARRY_TRY_ASSIGN(const bool is_new, into->store(arrival));
  if (is_new) {
    ++stored_;
    return {};
  }
  // A private artifact that is sent as public becomes public, because the sender has its content.
  if (!is_private && !sync_user_.may(Right::kPrivate)) return {};
  return mention_one(arrival.name, is_private);
}

Result<void> Intake::mention(NameList& mentioned) {
  // Usually, the client mentions artifacts that both sides have: the unclustered artifacts of this
  // repository. These are found in the list of unclustered artifacts. If the list is very long (for
  // example, while a whole history is being pushed), looking up the few mentioned names in the
  // artifact table is faster.
  if (const auto* unclustered =
          repository_.names().unclustered_within(kReadPerMention * mentioned.size())) {
    std::size_t known = 0;
    for (const HashName& name : *unclustered) {
      if (NameList::Entry* const entry = mentioned.find(name.str())) {
        entry->flags |= kMentionKnown;
        if (++known == mentioned.size()) return {};
      }
    }
  }
  for (const NameList::Entry& entry : mentioned) {
    if ((entry.flags & kMentionKnown) != 0) continue;
    if (const auto name = HashName::parse(entry.name)) {
      QUARRY_TRY(mention_one(*name, (entry.flags & kMentionPublic) == 0));
    }
    if (needs_receipt_) break;
  }
  return {};
}

Result<void> Intake::mention_one(const HashName& name, bool is_private) {
  const auto known = repository_.find(name);
  // Without the right to private artifacts, the client cannot make stored artifacts private, and
  // cannot add private artifacts. It can make a phantom private. The phantom is then no longer
  // requested, but becomes public when it arrives.
  const bool may_hide = sync_user_.may(Right::kPrivate) || (known && known->is_phantom());
  if (is_private && !may_hide) return {};
  if (known) {
    if (repository_.is_private(known->rid) == is_private) return {};
    if (is_private && !known->is_phantom()) return {};
    if (!is_private && !known->is_phantom() && !sync_user_.may(Right::kPrivate)) {
      // A client that only names a private artifact has not proved that it has the artifact.
      to_be_proven_.push_back(name);
      return {};
    }
    return store([&](repository::Receipt& into) { return into.set_private(name, is_private); });
  }
  if (repository_.settings().shuns_hash_of(name) || repository_.is_shunned(name)) return {};
  return store([&](repository::Receipt& into) { return into.add_phantom(name, is_private); });
}

}  // namespace quarry::sync
