// Keys and values. A bucket is a stream with one message for each revision of a key:
//
//   quarry-leases.GROUP.KEY.REVISION     REVISION is the previous one, or 0
//
// A revision is the sequence of its message. Only one message can have the same subject, so only one
// host can follow a revision. (The buckets of NATS compare the sequence of the last message instead.
// In a cluster, NATS 2.9 does this before the servers have agreed on the message, and accepts several
// at the same time.) A removed key has a message with the header Quarry-Removed.
#include <algorithm>

#include "nats_stream.h"
#include "quarry/base/escape.h"

namespace quarry::replica::nats {
namespace {

constexpr const char* kRemoved = "Quarry-Removed";

const char* word_of(Bucket bucket) {
  return bucket == Bucket::kLeases ? "leases" : "records";
}

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
  return fmt::format("quarry_{}-{}", word_of(bucket), options_.group);
}

std::string NatsStream::key_subject(Bucket bucket, const std::string& key,
                                    const std::string& revision) const {
  return fmt::format("quarry-{}.{}.{}.{}", word_of(bucket), options_.group, key, revision);
}

/// Returns whether REVISION was the last one of LEASE for a whole lease_time.
bool NatsStream::has_expired(const std::string& lease, std::uint64_t revision) {
  const std::lock_guard lock(leases_mutex_);
  SeenLease& seen = leases_[lease];
  if (seen.revision != revision) seen = {revision, Clock::now()};
  return Clock::now() - seen.since >= options_.lease_time;
}

Result<NatsStream::StoredKey> NatsStream::stored_key(Bucket bucket, const std::string& key) {
  QUARRY_TRY(check_key(key));
  const std::string what = fmt::format("cannot read the key {}", key);
  const Link current = connected_link(Clock::now() + kRequestTime);
  if (!current) return busy(what);
  natsMsg* raw = nullptr;
  jsErrCode code{};
  const natsStatus status = js_GetLastMsg(&raw, current->jetstream(), bucket_name(bucket).c_str(),
                                          key_subject(bucket, key, "*").c_str(), nullptr, &code);
  const Message message(raw);
  if (code == JSNoMessageFoundErr) return StoredKey{};
  if (status != NATS_OK) {
    const std::string text = text_of(status);
    if (const std::string denial =
            current->take_denial("$JS.API.STREAM.MSG.GET." + bucket_name(bucket));
        !denial.empty())
      return fail(ErrorCode::kDenied, "{}: {}", what, denial);
    monitor_->request_check();
    return fail(ErrorCode::kBusy, "{}: {}", what, problem(text));
  }
  StoredKey found{natsMsg_GetSequence(raw), std::nullopt};
  if (!header_of(raw, kRemoved).empty()) return found;
  if (bucket == Bucket::kLeases && has_expired(key, found.revision)) return found;
  found.value = content_of(raw);
  return found;
}

/// Stores VALUE, or removes KEY, if REVISION is the last one.
Result<NatsStream::Stored> NatsStream::store_key(Bucket bucket, const std::string& key,
                                                 std::optional<std::string_view> value,
                                                 std::uint64_t revision) {
  QUARRY_TRY_ASSIGN(
      const Message message,
      new_message(key_subject(bucket, key, fmt::format("{}", revision)), "", value.value_or("")));
  if (!value && natsMsgHeader_Set(message.get(), kRemoved, "1") != NATS_OK)
    return fail(ErrorCode::kBusy, "cannot remove the key {}", key);
  return store_after(0, message.get(), "", Clock::now() + kRequestTime);
}

Result<std::optional<KeyValue>> NatsStream::get(Bucket bucket, const std::string& key) {
  QUARRY_TRY_ASSIGN(StoredKey found, stored_key(bucket, key));
  if (!found.value) return std::nullopt;
  return KeyValue{*std::move(found.value), found.revision};
}

// Reads first, because NATS forgets which revisions were followed when it discards old messages.
Result<std::optional<std::uint64_t>> NatsStream::put(Bucket bucket, const std::string& key,
                                                     std::string_view value,
                                                     std::uint64_t expected) {
  QUARRY_TRY_ASSIGN(const StoredKey found, stored_key(bucket, key));
  const bool is_free = expected == 0 && !found.value;
  if (found.revision != expected && !is_free) return std::nullopt;
  QUARRY_TRY_ASSIGN(const Stored stored, store_key(bucket, key, value, found.revision));
  if (stored.sequence == 0) return std::nullopt;
  return stored.sequence;
}

Result<void> NatsStream::erase(Bucket bucket, const std::string& key, std::uint64_t revision) {
  QUARRY_TRY_ASSIGN(const StoredKey found, stored_key(bucket, key));
  if (found.revision == revision && revision != 0) {
    QUARRY_TRY(store_key(bucket, key, std::nullopt, revision));
  }
  return {};
}

}  // namespace quarry::replica::nats
