// Keys and values, stored in the way of NATS: a bucket is the stream KV_BUCKET with the subjects
// $KV.BUCKET.KEY, which keeps the last message of each subject. A removed key has a message with the
// header KV-Operation. libnats is not used for this, because it cannot remove a certain revision.
//
// The servers discard old messages by their own clocks, not at the same time. A message that one
// server still has makes it refuse what another stores, and their copies differ. So leases are not
// discarded, and the hosts decide when they have expired.
#include <algorithm>

#include "nats_stream.h"
#include "quarry/base/escape.h"

namespace quarry::replica::nats {
namespace {

constexpr const char* kOperation = "KV-Operation";

Result<void> check_key(const std::string& key) {
  const auto is_valid = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
           std::string_view("-_=/.").contains(c);
  };
  if (!key.empty() && !key.starts_with('.') && !key.ends_with('.') && !key.contains("..") &&
      std::ranges::all_of(key, is_valid))
    return {};
  return fail(ErrorCode::kInvalid, "the key \"{}\" is not valid", base::printable(key));
}

}  // namespace

std::string NatsStream::bucket_name(Bucket bucket) const {
  return name_ + (bucket == Bucket::kLeases ? "-leases" : "-records");
}

std::string NatsStream::key_subject(Bucket bucket, const std::string& key) const {
  return fmt::format("$KV.{}.{}", bucket_name(bucket), key);
}

/// Returns whether REVISION was the last one of LEASE for a whole kLeaseTime.
bool NatsStream::has_expired(const std::string& lease, std::uint64_t revision) {
  const std::lock_guard lock(leases_mutex_);
  SeenLease& seen = leases_[lease];
  if (seen.revision != revision) seen = {revision, Clock::now()};
  return Clock::now() - seen.since >= kLeaseTime;
}

Result<NatsStream::StoredKey> NatsStream::stored_key(Bucket bucket, const std::string& key) {
  QUARRY_TRY(check_key(key));
  const std::string what = fmt::format("cannot read the key {}", key);
  const Link current = connected_link(Clock::now() + kRequestTime);
  if (!current) return busy(what);
  natsMsg* raw = nullptr;
  jsErrCode code{};
  const natsStatus status =
      js_GetLastMsg(&raw, current->jetstream(), ("KV_" + bucket_name(bucket)).c_str(),
                    key_subject(bucket, key).c_str(), nullptr, &code);
  const Message message(raw);
  if (code == JSNoMessageFoundErr) return StoredKey{};
  if (status != NATS_OK) {
    const std::string text = text_of(status);
    if (const std::string denial = current->take_denial(); !denial.empty())
      return fail(ErrorCode::kDenied, "{}: {}", what, denial);
    monitor_->request_check();
    return fail(ErrorCode::kBusy, "{}: {}", what, problem(text));
  }
  StoredKey found{natsMsg_GetSequence(raw), std::nullopt};
  if (!header_of(raw, kOperation).empty()) return found;
  if (bucket == Bucket::kLeases && has_expired(key, found.revision)) return found;
  found.value = content_of(raw);
  return found;
}

Result<NatsStream::Stored> NatsStream::store_key(Bucket bucket, const std::string& key,
                                                 std::optional<std::string_view> value,
                                                 std::uint64_t expected) {
  QUARRY_TRY(check_key(key));
  QUARRY_TRY_ASSIGN(const Message message,
                    new_message(key_subject(bucket, key), "", value.value_or("")));
  if (!value && natsMsgHeader_Set(message.get(), kOperation, "DEL") != NATS_OK)
    return fail(ErrorCode::kBusy, "cannot remove the key {}", key);
  return store_after(expected, message.get(), Clock::now() + kRequestTime);
}

Result<std::optional<KeyValue>> NatsStream::get(Bucket bucket, const std::string& key) {
  QUARRY_TRY_ASSIGN(StoredKey found, stored_key(bucket, key));
  if (!found.value) return std::nullopt;
  return KeyValue{*std::move(found.value), found.revision};
}

Result<std::optional<std::uint64_t>> NatsStream::put(Bucket bucket, const std::string& key,
                                                     std::string_view value,
                                                     std::uint64_t expected) {
  QUARRY_TRY_ASSIGN(Stored stored, store_key(bucket, key, value, expected));
  if (stored.last && expected == 0) {
    QUARRY_TRY_ASSIGN(const StoredKey found, stored_key(bucket, key));
    if (!found.value) {
      QUARRY_TRY_ASSIGN(stored, store_key(bucket, key, value, found.revision));
    }
  }
  if (stored.last) return std::nullopt;
  return stored.sequence;
}

Result<void> NatsStream::erase(Bucket bucket, const std::string& key, std::uint64_t revision) {
  QUARRY_TRY(store_key(bucket, key, std::nullopt, revision));
  return {};
}

}  // namespace quarry::replica::nats
