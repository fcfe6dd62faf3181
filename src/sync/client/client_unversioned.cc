#include "client_unversioned.h"

#include <algorithm>
#include <utility>

#include "cards/file_card.h"

namespace quarry::sync {

Result<void> ClientUnversioned::write(CardWriter& writer) {
  if (!has_asked_) {
    has_asked_ = true;
    writer.card({"pragma", "uv-hash", repository_.unversioned().hash()});
    return {};
  }
  has_begun_ = true;
  for (const std::string& name : wanted_) writer.card({"uvgimme", name});
  // Send at least one file, even if it exceeds the limit, because it would otherwise never be sent.
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
    writer.card({"uvfile", name, std::to_string(file->mtime), *file->hash,
                 std::to_string(file->size), std::to_string(kUvFlagContentOmitted)});
    return {};
  }
  const auto content = repository_.unversioned().content(name);
  // Skip a file whose content has never arrived.
  if (!content && content.error().code == ErrorCode::kNotFound) return {};
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
  const auto mtime = unversioned_time(card[2]);
  if (!mtime || !is_unversioned_hash(card[3])) return std::unexpected(card.misshapen());
  // Ignore invalid names, such as "../x", because the files can be exported to a folder.
  if (is_unversioned_name(card[1])) {
    there_[std::string(card[1])] = {.mtime = *mtime, .hash = std::string(card[3])};
  }
  return {};
}

Result<void> ClientUnversioned::file(const CardReader& card, const Writing& receipt) {
  const auto wanted = std::ranges::find(wanted_, card[1]);
  if (!pulls_ || wanted == wanted_.end()) return {};
  QUARRY_TRY_ASSIGN(const auto arrival, unversioned_arrival_of(card));
  wanted_.erase(wanted);
  something_came_ = true;
  ++received_;
  QUARRY_TRY_ASSIGN(repository::Receipt* const into, receipt());
  QUARRY_TRY(into->store_unversioned(arrival));
  return {};
}

Result<void> ClientUnversioned::finish_reply(const Writing& receipt) {
  if (has_catalogue_) {
    has_catalogue_ = false;
    return compare(receipt);
  }
  // If the server has sent none of the requested files, do not request these files again, because
  // the server will not send them later.
  if (has_begun_ && !std::exchange(something_came_, false)) wanted_.clear();
  return {};
}

Result<void> ClientUnversioned::compare(const Writing& receipt) {
  wanted_.clear();
  to_send_.clear();
  std::map<std::string, Version> here;
  for (const repository::UnversionedFile& file : repository_.unversioned().all()) {
    here[file.name] = {.mtime = file.mtime, .hash = file.hash.value_or(std::string(kDeletedHash))};
    const bool is_news = !there_.contains(file.name) && file.hash;
    if (is_news && pushes_ && may_push_) to_send_.push_back(file.name);
  }
  for (const auto& [name, version] : there_) {
    const auto found = here.find(name);
    const Version* const ours = found == here.end() ? nullptr : &found->second;
    QUARRY_TRY(compare_one(name, version, ours, receipt));
  }
  there_.clear();
  return {};
}

Result<void> ClientUnversioned::compare_one(const std::string& name, const Version& there,
                                            const Version* here, const Writing& receipt) {
  if (here && *here == there) return {};
  if (here && *here > there) {
    if (!pushes_ || !may_push_) return {};
    if (here->hash == there.hash) same_content_there_.insert(name);
    to_send_.push_back(name);
    return {};
  }
  if (!pulls_ || (!here && there.hash == kDeletedHash)) return {};
  const bool has_its_content = there.hash == kDeletedHash || (here && here->hash == there.hash);
  if (!has_its_content) {
    wanted_.push_back(name);
    return {};
  }
  ++received_;
  QUARRY_TRY_ASSIGN(repository::Receipt* const into, receipt());
  QUARRY_TRY(into->store_unversioned(
      {.name = name, .mtime = there.mtime, .hash = there.hash, .content = std::nullopt}));
  return {};
}

}  // namespace quarry::sync
