#include "supply.h"

#include <algorithm>
#include <functional>
#include <limits>
#include <string>

#include "quarry/repository/compaction.h"

namespace quarry::sync {
namespace {

using artifact::HashAlgorithm;
using artifact::HashName;
using repository::Rid;
using repository::StoredArtifact;

// Flags of requested names.
constexpr std::uint8_t kAnswered = 1;
constexpr std::uint8_t kSent = 2;

constexpr std::int64_t kDefaultMaxDownload = 5000000;
constexpr std::int64_t kDefaultMaxDownloadSeconds = 30;
// Number of artifacts sent between two readings of the clock.
constexpr std::uint64_t kClockInterval = 16;

}  // namespace

bool Supply::is_full() {
  // Send at least one artifact, even if the limits are very low, so that the client makes progress.
  if (sent_ == 0) return false;
  if (max_download_ == 0) {
    const auto bytes = repository_.settings().get_int("max-download", kDefaultMaxDownload);
    const auto seconds =
        repository_.settings().get_int("max-download-time", kDefaultMaxDownloadSeconds);
    max_download_ = static_cast<std::size_t>(std::max<std::int64_t>(bytes, 1));
    // As in fossil, the time limit is at least one second, even if max-download-time is 0.
    deadline_ = bound_.now() + std::chrono::seconds(std::clamp<std::int64_t>(seconds, 1, 3600));
  }
  if (writer_.size() >= max_download_) return true;
  // Reading the clock takes as long as sending a small artifact, so it is not read for each
  // artifact.
  if (sent_ % kClockInterval == 1 && !is_time_up_) {
    is_time_up_ = bound_.is_near() || bound_.now() >= deadline_;
  }
  return is_time_up_;
}

Result<void> Supply::check_age(const HashName& name) const {
  if (name.algorithm() == HashAlgorithm::kSha1 || client_.takes_sha3()) return {};
  return fail(ErrorCode::kInvalid, "Fossil version 2.0 or later required.");
}

Result<void> Supply::clone_by_name() {
  writer_.push(repository_.settings().server_code(), repository_.settings().project_code());
  named_all_ = true;
  return repository_.names().visit_names(
      [this](const HashName& name) { writer_.igot(name.str()); });
}

std::vector<Supply::Found> Supply::private_from(Rid first) {
  std::vector<Found> found;
  if (!private_session_) return found;
  for (const HashName& name : repository_.names().private_names()) {
    const auto info = repository_.find(name);
    if (info && info->rid >= first && !repository_.is_shunned(name)) {
      found.push_back({info->rid, name, true});
    }
  }
  std::ranges::sort(found, {}, &Found::rid);
  return found;
}

Result<void> Supply::clone(std::uint64_t version, Rid first) {
  // The reply to a clone is usually full: reserve memory once instead of growing repeatedly.
  writer_.reserve(static_cast<std::size_t>(
      std::clamp<std::int64_t>(repository_.settings().get_int("max-download", kDefaultMaxDownload),
                               0, kDefaultMaxDownload)));
  first_ = first > 1 && repository::Compaction(repository_).has_reversed_deltas() ? first : 0;
  const std::vector<Found> hidden = private_from(first);
  auto next_hidden = hidden.begin();
  Result<void> sending;
  // Sends the private artifacts before row id RID. Public and private artifacts are two lists in
  // the order of their row ids, and are merged.
  const auto send_hidden_before = [&](Rid rid) {
    while (sending && next_hidden != hidden.end() && next_hidden->rid < rid && !is_full()) {
      sending = send_private(*next_hidden++);
    }
    return sending && (next_hidden == hidden.end() || next_hidden->rid >= rid);
  };
  const auto visit = [&](const StoredArtifact& stored) {
    if (!send_hidden_before(stored.rid) || is_full()) return false;
    sending = send_stored(stored, version >= 3);
    return sending.has_value();
  };
  QUARRY_TRY_ASSIGN(Rid next, repository_.visit_stored(first, visit));
  send_hidden_before(next != 0 ? next : std::numeric_limits<Rid>::max());
  QUARRY_TRY(sending);
  if (next_hidden != hidden.end() && (next == 0 || next_hidden->rid < next)) {
    next = next_hidden->rid;
  }
  writer_.card({"clone_seqno", std::to_string(next)});
  writer_.push(repository_.settings().server_code(), repository_.settings().project_code());
  return {};
}

Result<void> Supply::continue_clone(bool is_first, NameList& client_has) {
  if (is_first) {
    QUARRY_TRY(announce_all(client_has));
    // fossil does not continue after a reply without artifacts.
    Result<void> sending;
    const auto send_one = [&](const StoredArtifact& stored) {
      sending = check_age(stored.name);
      if (sending) sending = send_whole(stored.rid, stored.name.str());
      return false;
    };
    QUARRY_TRY(repository_.visit_stored(1, send_one));
    QUARRY_TRY(sending);
  }
  // If clone_seqno is 1, fossil requests artifacts by name. If it is 0, the clone ends.
  writer_.card({"clone_seqno", is_first || wanted_.size() > 0 ? "1" : "0"});
  writer_.push(repository_.settings().server_code(), repository_.settings().project_code());
  return {};
}

Result<void> Supply::send_whole(Rid rid, std::string_view name) {
  QUARRY_TRY_ASSIGN(const std::string content, repository_.content(rid));
  writer_.file(name, {}, content);
  return {};
}

Result<void> Supply::send_private(const Found& found) {
  QUARRY_TRY(check_age(found.name));
  ++sent_;
  writer_.private_next();
  QUARRY_TRY_ASSIGN(const auto delta, repository_.stored_delta(found.rid));
  if (delta && !repository_.is_shunned(delta->first) && !may_be_reversed(delta->first)) {
    writer_.file(found.name.str(), delta->first.str(), delta->second);
    return {};
  }
  return send_whole(found.rid, found.name.str());
}

/// A compaction between two requests of a clone can reverse a delta: A was sent as a delta on B,
/// and now B is stored as a delta on A. In this case, A must not be used as the source of B.
bool Supply::may_be_reversed(const HashName& source) {
  if (first_ == 0) return false;
  const auto info = repository_.find(source);
  return info && info->rid < first_;
}

bool Supply::is_cloned_source(const HashName& source) {
  if (may_be_reversed(source)) return false;
  if (private_session_) return !repository_.is_shunned(source);
  if (!has_private_) has_private_ = !repository_.names().private_names().empty();
  if (*has_private_) {
    const auto info = repository_.find(source);
    if (!info || repository_.is_private(info->rid)) return false;
  }
  return !repository_.is_shunned(source);
}

Result<void> Supply::send_stored(const StoredArtifact& stored, bool compressed) {
  QUARRY_TRY(check_age(stored.name));
  ++sent_;
  const std::string_view name = stored.name.str();
  const bool as_delta = stored.delta_source && is_cloned_source(*stored.delta_source);
  if (stored.delta_source && !as_delta) return send_whole(stored.rid, name);
  const std::string_view source = as_delta ? stored.delta_source->str() : std::string_view{};
  if (compressed) {
    writer_.cfile(name, source, static_cast<std::uint64_t>(stored.size),
                  static_cast<std::uint64_t>(stored.stored_size));
    const std::size_t before = writer_.size();
    QUARRY_TRY(stored.append_to(writer_.payload()));
    if (writer_.size() - before != static_cast<std::size_t>(stored.stored_size)) {
      return fail(ErrorCode::kCorrupt, "an artifact changed size while it was read");
    }
    writer_.end_cfile();
    return {};
  }
  if (as_delta) {
    QUARRY_TRY_ASSIGN(const auto delta, repository_.stored_delta(stored.rid));
    if (delta) {
      writer_.file(name, delta->first.str(), delta->second);
      return {};
    }
  }
  return send_whole(stored.rid, name);
}

Result<void> Supply::answer_wanted(NameList& client_has) {
  wanted_.seal();
  std::vector<Found> found;
  for (const NameList::Entry& entry : wanted_) {
    const auto name = HashName::parse(entry.name);
    const auto info = name ? repository_.find(*name) : std::nullopt;
    if (!info || info->is_phantom() || repository_.is_shunned(*name)) continue;
    if (repository_.is_waiting(info->rid)) continue;
    found.push_back({info->rid, *name, repository_.is_private(info->rid)});
  }
  // Old artifacts are stored as deltas on newer artifacts. If the newest artifacts are sent first,
  // the client already has the sources of most deltas.
  std::ranges::sort(found, std::greater{}, &Found::rid);
  for (const Found& one : found) {
    QUARRY_TRY(answer(one, *wanted_.find(one.name.str()), client_has));
  }
  return {};
}

Result<void> Supply::answer(const Found& found, NameList::Entry& wanted, NameList& client_has) {
  const std::string_view name = found.name.str();
  if (found.is_private && !private_session_) {
    // Tell the client that the artifact is private. Otherwise, if a public check-in refers to this
    // artifact, the client would request it in every sync.
    if (client_.understands_private_igot()) writer_.igot(name, true);
    return {};
  }
  wanted.flags |= kAnswered;
  if (is_full()) {
    writer_.igot(name, found.is_private);
    return {};
  }
  QUARRY_TRY(send(found, client_has));
  wanted.flags |= kSent;
  return {};
}

Result<void> Supply::send(const Found& found, NameList& client_has) {
  const std::string_view name = found.name.str();
  QUARRY_TRY(check_age(found.name));
  ++sent_;
  if (found.is_private) writer_.private_next();
  QUARRY_TRY_ASSIGN(const auto delta, repository_.stored_delta(found.rid));
  if (delta) {
    const std::string_view source = delta->first.str();
    const NameList::Entry* const sent = wanted_.find(source);
    if ((sent != nullptr && (sent->flags & kSent) != 0) || client_has.find(source) != nullptr) {
      writer_.file(name, source, delta->second);
      return {};
    }
  }
  return send_whole(found.rid, name);
}

void Supply::announce(NameList& client_has) {
  if (!named_all_) {
    for (const HashName& name : repository_.names().unclustered())
      announce(name, false, client_has);
  }
  if (!private_session_) return;
  for (const HashName& name : repository_.names().private_names()) announce(name, true, client_has);
}

Result<void> Supply::announce_all(NameList& client_has) {
  QUARRY_TRY(repository_.names().visit_names(
      [&](const HashName& name) { announce(name, false, client_has); }));
  named_all_ = true;
  announce(client_has);
  return {};
}

void Supply::announce_clusters(NameList& client_has) {
  for (const HashName& name : repository_.names().clusters()) announce(name, false, client_has);
}

void Supply::announce(const HashName& name, bool is_private, NameList& client_has) {
  if (client_has.find(name.str()) != nullptr) return;
  const NameList::Entry* const wanted = wanted_.find(name.str());
  if (wanted != nullptr && (wanted->flags & kAnswered) != 0) return;
  writer_.igot(name.str(), is_private);
}

}  // namespace quarry::sync
