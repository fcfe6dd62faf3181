#include "client_offer.h"

#include <algorithm>

namespace quarry::sync {
namespace {

using artifact::HashName;

// Number of names of the catalogue in one request.
constexpr std::size_t kNamesAtOnce = 20000;
// Maximum number of times that an artifact is sent. If a server requests the artifact again after
// that, the server cannot use the artifact.
constexpr int kMaxTimes = 2;
// A delta chain that is longer than this is a cycle.
constexpr std::size_t kMaxChain = 200000;

}  // namespace

void ClientOffer::asked_for(const HashName& name) {
  remote_has_.erase(name);
  const auto sent = times_sent_.find(name);
  if (sent != times_sent_.end() && sent->second >= kMaxTimes) return;
  const auto info = repository_.find(name);
  if (!info || info->is_phantom() || repository_.is_waiting(info->rid)) return;
  if (repository_.is_shunned(name)) return;
  if (!with_private_ && repository_.is_private(info->rid)) return;
  // A server can repeat its request until the artifact arrives, so add the name only once.
  if (asked_for_.insert(name).second) asked_.push_back(name);
}

bool ClientOffer::has_more() {
  return !unsent_.empty() || !asked_.empty() || catalogue_;
}

Result<void> ClientOffer::write(CardWriter& writer) {
  QUARRY_TRY(send_unsent(writer));
  QUARRY_TRY(send_asked(writer));
  if (catalogue_) return name_all(writer);
  name_unclustered(writer);
  return {};
}

/// Returns the delta source of NAME if the source must be sent first, because the server might not
/// have it. Otherwise, returns nullopt.
std::optional<HashName> ClientOffer::source_to_send(const HashName& name) {
  if (times_sent_.contains(name)) return std::nullopt;
  const auto info = repository_.find(name);
  if (!info) return std::nullopt;
  const auto source_name = repository_.delta_source(info->rid);
  if (!source_name || remote_has_.contains(*source_name)) return std::nullopt;
  const auto source = repository_.find(*source_name);
  if (!source || source->is_phantom() || repository_.is_shunned(*source_name)) return std::nullopt;
  if (!with_private_ && repository_.is_private(source->rid)) return std::nullopt;
  return source_name;
}

Result<void> ClientOffer::find_chain(const HashName& name) {
  if (!chain_.empty() && chain_.front() == name) return {};
  chain_.assign(1, name);
  while (const auto source = source_to_send(chain_.back())) {
    if (chain_.size() == kMaxChain) {
      return fail(ErrorCode::kCorrupt,
                  "artifact " + std::string(name.str()) + ": its delta chain is a cycle");
    }
    chain_.push_back(*source);
  }
  return {};
}

/// Sends the delta sources of NAME, then NAME. Returns false if the request is full before all
/// these artifacts have been sent.
Result<bool> ClientOffer::send(CardWriter& writer, const HashName& name) {
  QUARRY_TRY(find_chain(name));
  for (; !chain_.empty(); chain_.pop_back()) {
    if (is_full(writer)) return false;
    // Skip delta sources that were sent with other artifacts after the chain was built.
    if (chain_.size() > 1 && times_sent_.contains(chain_.back())) continue;
    QUARRY_TRY(send_one(writer, chain_.back()));
  }
  return true;
}

Result<void> ClientOffer::send_one(CardWriter& writer, const HashName& name) {
  const auto info = repository_.find(name);
  if (!info || info->is_phantom()) return {};
  const bool is_private = repository_.is_private(info->rid);
  if (is_private && !with_private_) return {};
  if (is_private) writer.private_next();
  ++sent_;
  asked_for_.erase(name);
  const bool is_first = ++times_sent_[name] == 1;
  QUARRY_TRY_ASSIGN(const auto delta, repository_.stored_delta(info->rid));
  remote_has_.insert(name);
  // If the server requests the artifact again, the full content is sent, because the server could
  // not use the delta.
  if (delta && is_first && remote_has_.contains(delta->first)) {
    writer.file(name.str(), delta->first.str(), delta->second);
    return {};
  }
  QUARRY_TRY_ASSIGN(const std::string content, repository_.content(info->rid));
  writer.file(name.str(), {}, content);
  return {};
}

Result<void> ClientOffer::send_unsent(CardWriter& writer) {
  if (!unsent_was_read_) {
    unsent_ = repository_.names().unsent();
    std::ranges::reverse(unsent_);
    unsent_was_read_ = true;
  }
  while (!unsent_.empty() && !is_full(writer)) {
    const HashName name = unsent_.back();
    const auto info = repository_.find(name);
    // Skip this artifact if it was already sent, for example because the server had requested it.
    if (!times_sent_.contains(name) && !(info && repository_.is_waiting(info->rid))) {
      QUARRY_TRY_ASSIGN(const bool is_sent, send(writer, name));
      if (!is_sent) break;
    }
    unsent_.pop_back();
    sent_of_unsent_.push_back(name);
  }
  return {};
}

Result<void> ClientOffer::send_asked(CardWriter& writer) {
  while (!asked_.empty() && !is_full(writer)) {
    // Skip artifacts that were sent in the meantime by send_unsent() or as delta sources.
    if (asked_for_.contains(asked_.front())) {
      QUARRY_TRY_ASSIGN(const bool is_sent, send(writer, asked_.front()));
      if (!is_sent) break;
    }
    asked_.pop_front();
  }
  return {};
}

/// Returns whether to send an `igot` card for NAME. Sending each name once is enough: after the
/// server has received a name, it requests the artifact again and again until the artifact arrives.
bool ClientOffer::should_name(const HashName& name) {
  return !remote_has_.contains(name) && named_.insert(name).second;
}

void ClientOffer::name_unclustered(CardWriter& writer) {
  for (const HashName& name : repository_.names().unclustered()) {
    if (should_name(name)) writer.igot(name.str());
  }
  if (!with_private_) return;
  for (const HashName& name : repository_.names().private_names()) {
    if (should_name(name)) writer.igot(name.str(), true);
  }
}

Result<void> ClientOffer::name_all(CardWriter& writer) {
  if (all_.empty()) {
    QUARRY_TRY(
        repository_.names().visit_names([this](const HashName& name) { all_.push_back(name); }));
    if (with_private_) {
      for (const HashName& name : repository_.names().private_names())
        writer.igot(name.str(), true);
    }
  }
  for (std::size_t named = 0; named < kNamesAtOnce && !all_.empty(); ++named) {
    if (!remote_has_.contains(all_.back())) writer.igot(all_.back().str());
    all_.pop_back();
  }
  catalogue_ = !all_.empty();
  return {};
}

}  // namespace quarry::sync
