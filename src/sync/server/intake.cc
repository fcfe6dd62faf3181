#include "intake.h"

#include <string>

#include "cards/file_card.h"

namespace quarry::sync {
namespace {

using artifact::HashName;

// The list of unclustered artifacts is searched only if it has at most this number of entries per
// mentioned name. Looking up one name in the artifact table takes about as long as reading two
// entries of the list.
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
    // Set the sender only now, because login cards are read after this object is created.
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
  has_news_ = has_news_ || is_new || into->has_published();
  if (is_new) {
    ++stored_;
    return {};
  }
  // store() has already made a private artifact public if the client has proved that it has the
  // content. Only users with the right to private artifacts can make further changes.
  if (!is_private && !sync_user_.may(Right::kPrivate)) return {};
  return mention_one(arrival.name, is_private);
}

Result<void> Intake::mention(NameList& mentioned) {
  // Usually, the client mentions artifacts that are also unclustered in this repository, so first
  // search the list of unclustered artifacts. If this list is very long (for example, while a whole
  // history is being pushed), looking up each name in the artifact table is faster.
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
  // A client without the right to private artifacts can neither add private artifacts nor make
  // stored artifacts private. Such a client can only make phantoms private. Such a phantom is no
  // longer requested, and becomes public when its content arrives.
  const bool may_hide = sync_user_.may(Right::kPrivate) || (known && known->is_phantom());
  if (is_private && !may_hide) return {};
  if (known) {
    if (repository_.is_private(known->rid) == is_private) return {};
    if (is_private && !known->is_phantom()) return {};
    if (!is_private && !known->is_phantom() && !sync_user_.may(Right::kPrivate)) {
      // Request the content: a client that only names a private artifact has not proved that it has
      // the artifact.
      to_be_proven_.push_back(name);
      return {};
    }
    return store([&](repository::Receipt& into) -> Result<bool> {
      QUARRY_TRY(into.set_private(name, is_private));
      return into.has_published();
    });
  }
  if (repository_.settings().shuns_hash_of(name) || repository_.is_shunned(name)) return {};
  return record([&](repository::Receipt& into) { return into.add_phantom(name, is_private); });
}

}  // namespace quarry::sync
