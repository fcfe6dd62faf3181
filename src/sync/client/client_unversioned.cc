#include "client_unversioned.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "cards/unversioned_name.h"
#include "client_cards.h"
#include "max_upload.h"
#include "quarry/artifact/hash_name.h"
#include "quarry/base/number.h"

namespace quarry::sync {
namespace {

using artifact::HashName;
using base::Result;

// Flags of a uvfile card.
constexpr std::uint64_t kDeletedFlag = 1;
constexpr std::uint64_t kContentOmitted = 4;

/// WORD as an mtime in seconds.
std::optional<std::int64_t> time_in(std::string_view word) {
  const auto number = base::parse_number<std::uint64_t>(word);
  if (!number || *number > INT64_MAX) return std::nullopt;
  return static_cast<std::int64_t>(*number);
}

bool is_hash(std::string_view word) {
  return word == "-" || HashName::parse(word).has_value();
}

}  // namespace

ClientUnversioned::ClientUnversioned(repository::Repository& repository, Choices choices)
    : repository_(repository),
      pulls_(choices.pulls),
      pushes_(choices.pushes),
      has_asked_(!choices.asks),
      max_upload_(max_upload(repository)) {}

Result<void> ClientUnversioned::write(CardWriter& writer) {
  if (!has_asked_) {
    has_asked_ = true;
    write_card(writer, {"pragma", "uv-hash", repository_.unversioned().hash()});
    return {};
  }
  has_begun_ = true;
  for (const std::string& name : wanted_) write_card(writer, {"uvgimme", name});
  // At least one, however low the limit is.
  bool is_first = true;
  while (!to_send_.empty() && (is_first || writer.size() < max_upload_)) {
    is_first = false;
    const std::string name = std::move(to_send_.back());
    to_send_.pop_back();
    QUARRY_TRY(send(writer, name));
  }
  return {};
}

Result<void> ClientUnversioned::send(CardWriter& writer, const std::string& name) {
  const auto file = repository_.unversioned().find(name);
  if (!file) return {};
  if (!file->hash) {
    writer.uvfile_deleted(name, file->mtime);
    return {};
  }
  if (same_content_there_.contains(name)) {
    write_card(writer, {"uvfile", name, std::to_string(file->mtime), *file->hash,
                        std::to_string(file->size), std::to_string(kContentOmitted)});
    return {};
  }
  const auto content = repository_.unversioned().content(name);
  // Of some files only the name has arrived.
  if (!content && content.error().code == base::ErrorCode::kNotFound) return {};
  if (!content) return std::unexpected(content.error());
  writer.uvfile(name, file->mtime, *file->hash, *content);
  ++sent_;
  return {};
}

void ClientUnversioned::pragma(const CardReader& card) {
  if (card[1] != "uv-push-ok" && card[1] != "uv-pull-only") return;
  if (has_begun_ || (!pulls_ && !pushes_)) return;
  has_asked_ = true;
  has_catalogue_ = true;
  may_push_ = card[1] == "uv-push-ok";
}

Result<void> ClientUnversioned::igot(const CardReader& card) {
  const auto mtime = time_in(card[2]);
  if (!mtime || !is_hash(card[3])) return std::unexpected(card.misshapen());
  // Rejects names that would escape from the folder that files are put into.
  if (is_unversioned_name(card[1])) {
    there_[std::string(card[1])] = {.mtime = *mtime, .hash = std::string(card[3])};
  }
  return {};
}

Result<void> ClientUnversioned::file(const CardReader& card, const Writing& receipt) {
  const auto mtime = time_in(card[2]);
  const auto flags = base::parse_number<std::uint64_t>(card[5]);
  if (!mtime || !flags || !is_hash(card[3])) return std::unexpected(card.misshapen());
  const auto wanted = std::ranges::find(wanted_, card[1]);
  if (!pulls_ || wanted == wanted_.end()) return {};
  wanted_.erase(wanted);
  something_came_ = true;
  repository::UnversionedArrival arrival{
      .name = card[1], .mtime = *mtime, .hash = card[3], .content = std::nullopt};
  if ((*flags & (kDeletedFlag | kContentOmitted)) == 0) arrival.content = card.payload();
  QUARRY_TRY_ASSIGN(repository::Receipt* const into, receipt());
  QUARRY_TRY(into->store_unversioned(arrival));
  return {};
}

Result<void> ClientUnversioned::finish_reply(const Writing& receipt) {
  if (has_catalogue_) {
    has_catalogue_ = false;
    return compare(receipt);
  }
  // A server that sent nothing of what was requested will not send the rest.
  if (has_begun_ && !std::exchange(something_came_, false)) wanted_.clear();
  return {};
}

Result<void> ClientUnversioned::compare(const Writing& receipt) {
  wanted_.clear();
  to_send_.clear();
  std::map<std::string, Version> here;
  for (const repository::UnversionedFile& file : repository_.unversioned().all()) {
    here[file.name] = {.mtime = file.mtime, .hash = file.hash.value_or("-")};
    const bool is_news = !there_.contains(file.name) && file.hash;
    if (is_news && pushes_ && may_push_) to_send_.push_back(file.name);
  }
  for (const auto& [name, version] : there_) {
    const auto found = here.find(name);
    const auto ours = found == here.end() ? std::nullopt : std::optional(found->second);
    QUARRY_TRY(compare_one(name, version, ours, receipt));
  }
  there_.clear();
  return {};
}

Result<void> ClientUnversioned::compare_one(const std::string& name, const Version& there,
                                            const std::optional<Version>& here,
                                            const Writing& receipt) {
  if (here && *here == there) return {};
  if (here && *here > there) {
    if (!pushes_ || !may_push_) return {};
    if (here->hash == there.hash) same_content_there_[name] = there;
    to_send_.push_back(name);
    return {};
  }
  if (!pulls_ || (!here && there.hash == "-")) return {};
  const bool has_its_content = there.hash == "-" || (here && here->hash == there.hash);
  if (!has_its_content) {
    wanted_.push_back(name);
    return {};
  }
  QUARRY_TRY_ASSIGN(repository::Receipt* const into, receipt());
  QUARRY_TRY(into->store_unversioned(
      {.name = name, .mtime = there.mtime, .hash = there.hash, .content = std::nullopt}));
  return {};
}

}  // namespace quarry::sync
