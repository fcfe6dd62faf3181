#include "entry_application.h"

#include <fmt/core.h>

#include <algorithm>
#include <limits>

#include "entry_writer.h"
#include "quarry/base/log.h"
#include "quarry/repository/security_log.h"

namespace quarry::sync {

using artifact::HashName;
using repository::Arrival;
using repository::ConfigRecord;
using repository::PublishedArtifacts;
using repository::Receipt;
using repository::Rid;
using repository::UnversionedArrival;

namespace {

// Maximum number of items that are skipped one by one. Each of them repeats the transaction.
constexpr std::size_t kMaxBadItems = 16;

}  // namespace

Result<void> queue_changes(repository::Repository& repository, repository::ReplicaTables& tables,
                           const std::vector<repository::ChangedRow>& rows, std::size_t max_entry) {
  for (const std::string& cards : change_cards(repository, rows, max_entry)) {
    QUARRY_TRY(tables.queue(cards));
  }
  return tables.record(rows);
}

bool EntryApplication::has_changes() const {
  return std::ranges::any_of(parsed_, [](const auto& entry) { return entry && entry->is_change; });
}

/// Returns whether ITEM, which this host has published, changes anything on this host.
bool EntryApplication::changes_own_host(const EntryItem& item) {
  if (const auto* arrival = std::get_if<Arrival>(&item)) return !is_known(arrival->name);
  // All hosts publish again what depends on a shunned artifact.
  if (const auto* record = std::get_if<ConfigRecord>(&item)) return record->table == "shun";
  const auto* const removed = std::get_if<RemovedRow>(&item);
  return removed != nullptr && removed->table == "shun";
}

Result<std::optional<std::int64_t>> EntryApplication::unchanging(std::int64_t applied) {
  const auto is_own = [](const IncomingEntry& entry) { return entry.is_own; };
  if (entries_.empty() || !std::ranges::all_of(entries_, is_own)) return std::nullopt;
  QUARRY_TRY_ASSIGN(const auto snapshot, repository_.snapshot());
  if (applied == 0) {
    QUARRY_TRY_ASSIGN(applied, tables_.number(entries_.front().host));
  }
  for (const auto& entry : parsed_) {
    if (!entry) continue;
    if (entry->is_change && entry->number > applied) {
      // Changes of other hosts that were applied since this one was queued must be undone.
      if (!tables_.has_queued(entry->number)) return std::nullopt;
      applied = entry->number;
    }
    const auto changes = [this](const EntryItem& item) { return changes_own_host(item); };
    if (std::ranges::any_of(entry->items, changes)) return std::nullopt;
  }
  return applied;
}

Result<void> EntryApplication::run(std::uint64_t& compared,
                                   const std::function<Result<void>()>& before) {
  for (;;) {
    const auto applied = apply_all(compared, before);
    if (applied || !skip(applied.error())) return applied;
  }
}

void EntryApplication::parse() {
  for (const IncomingEntry& entry : entries_) {
    auto parsed = parse_entry(entry.content);
    if (!parsed) {
      base::log(base::LogLevel::kError, "{}: skipped entry {} of the stream: {}",
                repository_.path().string(), entry.sequence, parsed.error().message);
      parsed_.emplace_back();
    } else {
      parsed_.emplace_back(std::move(*parsed));
    }
  }
}

/// Returns whether the transaction can be repeated without the item that has failed with ERROR.
bool EntryApplication::skip(const Error& error) {
  if (error.code != ErrorCode::kInvalid && error.code != ErrorCode::kLimit) return false;
  const auto& [entry, item] = current_;
  if (entry >= entries_.size() || !parsed_[entry]) return false;
  const bool is_whole = bad_.size() >= kMaxBadItems;
  base::log(base::LogLevel::kError, "{}: skipped {} of entry {} of the stream: {}",
            repository_.path().string(), is_whole ? "the rest" : "an item",
            entries_[entry].sequence, error.message);
  if (is_whole) {
    auto& items = parsed_[entry]->items;
    items.erase(items.begin() + static_cast<std::ptrdiff_t>(item), items.end());
  } else {
    bad_.insert(current_);
  }
  return true;
}

Result<void> EntryApplication::apply_all(std::uint64_t& compared,
                                         const std::function<Result<void>()>& before_entries) {
  current_ = {entries_.size(), 0};
  QUARRY_TRY_ASSIGN(Receipt receipt, repository_.receive_unsynced());
  QUARRY_TRY(before_entries());
  QUARRY_TRY_ASSIGN(const ReplicaPosition before, tables_.position());
  bool are_rows_recorded = repository_.state() == compared;
  if (has_changes() && !are_rows_recorded) {
    QUARRY_TRY_ASSIGN(const auto rows, tables_.changed_rows());
    QUARRY_TRY(queue_changes(repository_, tables_, rows, max_entry_));
    are_rows_recorded = true;
  }
  for (std::size_t i = 0; i < entries_.size(); ++i) {
    const bool is_applied =
        before.created == position_.created && entries_[i].sequence <= before.sequence;
    if (!is_applied && parsed_[i]) QUARRY_TRY(apply(i, receipt));
  }
  current_ = {entries_.size(), 0};
  if (has_changes()) {
    // Every row that now differs from its digest was changed by the entries.
    QUARRY_TRY_ASSIGN(const auto rows, tables_.changed_rows());
    QUARRY_TRY(tables_.record(rows));
  }
  QUARRY_TRY(tables_.skip_received());
  QUARRY_TRY(tables_.set_position(position_));
  QUARRY_TRY(receipt.commit());
  if (are_rows_recorded) compared = repository_.state();
  return {};
}

Result<void> EntryApplication::apply(std::size_t index, Receipt& receipt) {
  const ParsedEntry& entry = *parsed_[index];
  if (entry.is_change) {
    const std::string_view host = entries_[index].host;
    if (entries_[index].is_own) QUARRY_TRY(tables_.remove_queued(entry.number));
    QUARRY_TRY_ASSIGN(const std::int64_t last, tables_.number(host));
    if (entry.number <= last) return {};
    QUARRY_TRY(tables_.set_number(host, entry.number));
  }
  const auto user = repository_.settings().find_user(entry.login);
  receipt.set_sender(
      {.uid = user ? user->uid : 0, .address = entry.address, .received = entry.time});
  for (std::size_t i = 0; i < entry.items.size(); ++i) {
    current_ = {index, i};
    if (bad_.contains(current_)) continue;
    const auto* const arrival = std::get_if<Arrival>(&entry.items[i]);
    if (arrival != nullptr && entries_[index].is_own && is_known(arrival->name)) continue;
    QUARRY_TRY(apply(entry.items[i], receipt));
  }
  if (receipt.id() == 0) return {};
  if (!entries_[index].is_own) return tables_.add_received(receipt.id());
  // This host has published the artifacts without committing them (take_unpublished()). It counts as
  // their receiver, so it reports them.
  constexpr Rid kAll = std::numeric_limits<Rid>::max();
  QUARRY_TRY_ASSIGN(const std::int64_t count, tables_.count(receipt.id(), kAll));
  return tables_.record(PublishedArtifacts{.parts = {{receipt.id(), kAll, count}}});
}

bool EntryApplication::is_known(const HashName& name) {
  const auto info = repository_.find(name);
  return info && !info->is_phantom();
}

Result<void> EntryApplication::store(const Arrival& arrival, Receipt& receipt) {
  QUARRY_TRY(receipt.store(arrival));
  if (arrival.is_private) QUARRY_TRY(tables_.add_private(arrival.name));
  // A delta on an artifact that was shunned here before it arrived cannot be expanded. The hosts that
  // hold the artifact send it whole after they have applied the shunning, which is already queued.
  if (!arrival.delta_source || !repository_.is_shunned(*arrival.delta_source) ||
      repository_.is_shunned(arrival.name)) {
    return {};
  }
  const auto info = repository_.find(arrival.name);
  if (info && !info->is_phantom() && !repository_.is_waiting(info->rid)) return {};
  return want(arrival.name.str());
}

Result<void> EntryApplication::replace(const ConfigRecord& record, Receipt& receipt) {
  QUARRY_TRY(receipt.replace_config(record));
  if (record.table != "shun") return {};
  QUARRY_TRY_ASSIGN(const auto names, tables_.waiting_for(record.key));
  for (const std::string& name : names) QUARRY_TRY(want(name));
  return {};
}

Result<void> EntryApplication::want(std::string_view name) {
  return tables_.queue(fmt::format("want {}\n", name));
}

/// Calls CHANGE, which changes the row KEY of TABLE. Only the host on which a user was changed reports
/// the change. Therefore, saves the user as already reported, unless this host has an unreported
/// change of the same user.
Result<void> EntryApplication::change_row(std::string_view table, std::string_view key,
                                          const std::function<Result<void>()>& change) {
  if (table != "user") return change();
  repository::SecurityLog log(repository_);
  QUARRY_TRY_ASSIGN(const bool has_changed, log.has_changed(key));
  QUARRY_TRY(change());
  return has_changed ? Result<void>() : log.note_user(key);
}

Result<void> EntryApplication::apply(const EntryItem& item, Receipt& receipt) {
  if (const auto* arrival = std::get_if<Arrival>(&item)) return store(*arrival, receipt);
  if (const auto* record = std::get_if<ConfigRecord>(&item)) {
    return change_row(record->table, record->key, [&] { return replace(*record, receipt); });
  }
  if (const auto* file = std::get_if<UnversionedArrival>(&item)) {
    return receipt.replace_unversioned(*file);
  }
  if (const auto* removed = std::get_if<RemovedRow>(&item)) {
    if (removed->table == "unversioned") return receipt.remove_unversioned(removed->key);
    QUARRY_TRY(change_row(removed->table, removed->key,
                          [&] { return receipt.remove_config(removed->table, removed->key); }));
    // A host that has ignored the artifact while it was shunned does not hold it.
    return removed->table == "shun" ? tables_.publish_again(removed->key) : Result<void>();
  }
  if (const auto* wanted = std::get_if<WantedName>(&item)) {
    return tables_.publish_again(wanted->name.str());
  }
  if (const auto* digested = std::get_if<DigestedName>(&item)) {
    return tables_.mark_digested(digested->name.str());
  }
  return receipt.set_private(std::get<PublishedName>(item).name, false);
}

}  // namespace quarry::sync
