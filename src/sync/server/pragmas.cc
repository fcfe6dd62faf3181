#include "pragmas.h"

#include <algorithm>
#include <chrono>
#include <map>
#include <optional>
#include <string>
#include <utility>

#include "public_url.h"
#include "quarry/artifact/fossilize.h"
#include "quarry/artifact/hash_name.h"

namespace quarry::sync {
namespace {

using artifact::fossilize;
using artifact::HashName;

constexpr std::size_t kMaxClientId = 200;

}  // namespace

Result<void> Pragmas::read(const CardReader& card) {
  const std::string_view name = card[1];
  if (name == "ci-lock" && card.size() == 4) return lock(card);
  if (name == "ci-unlock" && card.size() == 3) return unlock(card[2]);
  if (name == "client-url" && card.size() == 3) return client_url(card[2]);
  if (name == "req-links") wants_links_ = sync_user_.may(Right::kRead);
  return {};
}

Result<void> Pragmas::lock(const CardReader& card) {
  const auto check_in = HashName::parse(card[2]);
  if (!check_in || card[3].size() > kMaxClientId || !sync_user_.may(Right::kWrite)) return {};
  // Ask other hosts in the first pass, too, because it does not hold the write lock.
  std::optional<repository::CheckInLock> elsewhere;
  if (locks_ != nullptr) {
    const std::chrono::seconds timeout(
        repository_.settings().get_int("lock-timeout", repository::kCheckInLockSeconds));
    elsewhere = locks_->lock(check_in->str(), fossilize(sync_user_.login_name().value_or("")),
                             card[3], timeout);
    if (elsewhere) elsewhere->login = artifact::defossilize(elsewhere->login);
  }
  repository::Receipt* const receipt = intake_.receipt();
  if (receipt == nullptr) return {};
  QUARRY_TRY_ASSIGN(const auto held,
                    receipt->lock_check_in(*check_in, sync_user_.login_name(), card[3], elsewhere));
  if (held) {
    // Write `nobody` for a lock without a login, because the client does not recognize the answer
    // if the login is missing.
    const std::string login = held->login.empty() ? "nobody" : fossilize(held->login);
    writer_.card({"pragma", "ci-lock-fail", login, std::to_string(held->since)});
  }
  if (repository_.settings().get_bool("forbid-delta-manifests", false)) {
    writer_.card({"pragma", "avoid-delta-manifests"});
  }
  return {};
}

Result<void> Pragmas::unlock(std::string_view client) {
  if (!sync_user_.may(Right::kWrite)) return {};
  return intake_.record([&](repository::Receipt& receipt) -> Result<void> {
    QUARRY_TRY_ASSIGN(const auto check_ins, receipt.unlock_check_ins(client));
    if (locks_ == nullptr) return {};
    for (const std::string& check_in : check_ins) locks_->unlock(check_in, client);
    return {};
  });
}

Result<void> Pragmas::client_url(std::string_view url) {
  if (!sync_user_.may(Right::kWrite)) return {};
  const std::string known_as = public_url(url);
  if (known_as.empty()) return {};
  return intake_.record([&](repository::Receipt& receipt) {
    return receipt.set_config("syncfrom:" + known_as, "{}");
  });
}

void Pragmas::finish() {
  if (!wants_links_) return;
  // Several rows can have the same public URL, because public_url() removes user names. Merge such
  // rows.
  std::map<std::pair<std::string, std::string>, std::int64_t> latest;
  for (const repository::SyncLink& link : repository_.settings().sync_links(own_url_)) {
    const std::string url = public_url(link.url, PublicSchemes::kHttpAndSsh);
    if (url.empty()) continue;
    std::int64_t& mtime = latest[{url, link.about}];
    mtime = std::max(mtime, link.mtime);
  }
  for (const auto& [link, mtime] : latest) {
    writer_.card(
        {"pragma", "link", fossilize(link.first), fossilize(link.second), std::to_string(mtime)});
  }
}

}  // namespace quarry::sync
