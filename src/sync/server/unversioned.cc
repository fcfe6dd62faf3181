#include "unversioned.h"

#include <algorithm>

#include "cards/file_card.h"
#include "quarry/artifact/hash_name.h"

namespace quarry::sync {
namespace {

using artifact::HashName;

bool is_one_word(std::string_view text) {
  return !text.empty() && std::ranges::none_of(text, [](char c) { return c >= '\0' && c <= ' '; });
}

}  // namespace

Result<void> Unversioned::file(const CardReader& card) {
  QUARRY_TRY_ASSIGN(const auto arrival, unversioned_arrival_of(card));
  if (!sync_user_.may(Right::kWriteUnversioned)) {
    return fail(ErrorCode::kDenied, "not authorized to write unversioned files");
  }
  // A deleted file must not have content. The hash of any other file is checked when the file is
  // stored.
  if (card[3] == kDeletedHash && !card.payload().empty()) {
    return fail(ErrorCode::kInvalid, "in uvfile line, HASH does not match CONTENT");
  }
  return intake_.store(
      [&](repository::Receipt& receipt) { return receipt.store_unversioned(arrival); });
}

Result<void> Unversioned::gimme(const CardReader& card) {
  if (!is_unversioned_name(card[1])) return std::unexpected(card.misshapen());
  if (!sync_user_.may(Right::kRead)) return {};
  const auto file = repository_.unversioned().find(card[1]);
  if (!file) return {};
  if (!file->hash) {
    writer_.uvfile_deleted(file->name, file->mtime);
    return {};
  }
  const auto hash = HashName::parse(*file->hash);
  if (!hash) return {};
  QUARRY_TRY(supply_.check_age(*hash));
  if (supply_.is_full()) {
    writer_.uvigot(file->name, file->mtime, *file->hash, file->size);
    return {};
  }
  const auto content = repository_.unversioned().content(card[1]);
  if (!content && content.error().code == ErrorCode::kNotFound) return {};
  if (!content) return std::unexpected(content.error());
  writer_.uvfile(file->name, file->mtime, *file->hash, *content);
  supply_.count_sent();
  return {};
}

void Unversioned::compare(std::string_view hash) {
  if (had_catalogue_ || !sync_user_.may(Right::kRead)) return;
  had_catalogue_ = true;
  if (hash == repository_.unversioned().hash()) return;
  writer_.card(
      {"pragma", sync_user_.may(Right::kWriteUnversioned) ? "uv-push-ok" : "uv-pull-only"});
  send_catalogue();
}

void Unversioned::offer_to_clone() {
  if (had_catalogue_ || !sync_user_.may(Right::kRead)) return;
  if (!repository_.settings().get_bool("uv-sync", false)) return;
  had_catalogue_ = true;
  writer_.card({"pragma", "uv-pull-only"});
  send_catalogue();
}

void Unversioned::send_catalogue() {
  for (const repository::UnversionedFile& file : repository_.unversioned().all()) {
    // Skip a name with spaces or newlines, which would break the card. Such a name can only be in
    // the table if somebody has inserted it manually.
    if (!is_one_word(file.name)) continue;
    writer_.uvigot(file.name, file.mtime, file.hash ? std::string_view(*file.hash) : kDeletedHash,
                   file.hash ? file.size : 0);
  }
}

}  // namespace quarry::sync
