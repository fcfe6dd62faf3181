#include "unversioned.h"

#include <algorithm>
#include <optional>
#include <string>

#include "cards/unversioned_name.h"
#include "quarry/artifact/hash_name.h"
#include "quarry/base/number.h"

namespace quarry::sync {
namespace {

using artifact::HashName;
using base::ErrorCode;
using base::fail;
using base::Result;

constexpr std::uint64_t kNoContent = 1 | 4;  // deleted, left out
constexpr std::string_view kDeleted = "-";

bool is_one_word(std::string_view text) {
  return !text.empty() && std::ranges::none_of(text, [](char c) { return c >= '\0' && c <= ' '; });
}

}  // namespace

Unversioned::Unversioned(repository::Repository& repository, const SyncUser& sync_user,
                         Intake& intake, Supply& supply, CardWriter& writer)
    : repository_(repository),
      sync_user_(sync_user),
      intake_(intake),
      supply_(supply),
      writer_(writer) {}

Result<void> Unversioned::file(const CardReader& card) {
  const auto mtime = base::parse_number<std::uint64_t>(card[2]);
  const auto flags = base::parse_number<std::uint64_t>(card[5]);
  if (!is_unversioned_name(card[1]) || !mtime || *mtime > INT64_MAX || !flags ||
      !base::parse_number<std::uint64_t>(card[4]) ||
      (card[3] != kDeleted && !HashName::parse(card[3]))) {
    return std::unexpected(card.misshapen());
  }
  repository::UnversionedArrival arrival{.name = card[1],
                                         .mtime = static_cast<std::int64_t>(*mtime),
                                         .hash = card[3],
                                         .content = std::nullopt};
  if (!sync_user_.may(Right::kWriteUnversioned)) {
    return fail(ErrorCode::kDenied, "not authorized to write unversioned files");
  }
  if (card[3] != kDeleted && (*flags & kNoContent) == 0) arrival.content = card.payload();
  // For stored content, storing it checks the hash.
  if (card[3] == kDeleted && !card.payload().empty()) {
    return fail(ErrorCode::kInvalid, "in uvfile line, HASH does not match CONTENT");
  }
  repository::Receipt* const receipt = intake_.receipt();
  if (receipt == nullptr) return {};
  QUARRY_TRY(receipt->store_unversioned(arrival));
  return {};
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
  writer_.pragma(sync_user_.may(Right::kWriteUnversioned) ? "uv-push-ok" : "uv-pull-only");
  send_catalogue();
}

void Unversioned::offer_to_clone() {
  if (had_catalogue_ || !sync_user_.may(Right::kRead)) return;
  if (!repository_.settings().get_bool("uv-sync", false)) return;
  had_catalogue_ = true;
  writer_.pragma("uv-pull-only");
  send_catalogue();
}

void Unversioned::send_catalogue() {
  for (const repository::UnversionedFile& file : repository_.unversioned().all()) {
    // A name inserted by hand could read as several words or cards.
    if (!is_one_word(file.name)) continue;
    writer_.uvigot(file.name, file.mtime, file.hash ? std::string_view(*file.hash) : kDeleted,
                   file.hash ? file.size : 0);
  }
}

}  // namespace quarry::sync
