#include "leases.h"

#include <fmt/core.h>

#include <algorithm>
#include <iterator>
#include <random>
#include <utility>

#include "quarry/base/log.h"

namespace quarry::replica {
namespace {

using Clock = std::chrono::steady_clock;

// Maximum number of attempts if other hosts change the same key at the same time.
constexpr int kMaxAttempts = 3;
// Time between two attempts to renew a lease.
constexpr std::chrono::milliseconds kRetryInterval{1000};

std::unexpected<Error> contended(const std::string& key) {
  return fail(ErrorCode::kBusy, "other hosts change the key {} at the same time", key);
}

std::string own_value_of(const std::string& host) {
  std::random_device random;
  return fmt::format("{} {:08x}{:08x}", host, random(), random());
}

}  // namespace

Leases::Leases(Stream& stream, const LeasesOptions& options)
    : stream_(stream),
      options_(options),
      own_value_(own_value_of(options.host)),
      thread_([this] { work(); }) {}

void Leases::stop() {
  {
    const std::lock_guard lock(mutex_);
    if (std::exchange(is_stopping_, true)) return;
  }
  changed_.notify_all();
  thread_.join();
}

void Leases::run(std::function<void()> task) {
  {
    const std::lock_guard lock(mutex_);
    if (has_ended_) return;
    tasks_.push_back(std::move(task));
  }
  changed_.notify_all();
}

void Leases::work() {
  std::unique_lock lock(mutex_);
  for (;;) {
    lock.unlock();
    renew();
    lock.lock();
    has_ended_ = tasks_.empty() && is_stopping_;
    if (has_ended_) return;
    if (tasks_.empty() && held_.empty()) {
      changed_.wait(lock, [&] { return is_stopping_ || !tasks_.empty(); });
    } else if (tasks_.empty()) {
      changed_.wait_for(lock, std::min(kRetryInterval, options_.renew_interval),
                        [&] { return is_stopping_ || !tasks_.empty(); });
    }
    if (tasks_.empty()) continue;
    const auto task = std::move(tasks_.front());
    tasks_.pop_front();
    lock.unlock();
    task();
    lock.lock();
  }
}

// --- claims --------------------------------------------------------------------------------------

void Leases::claim(const std::string& key, const std::string& value, Answer answer) {
  run([=, this] { answer(claim_now(key, value)); });
}

Result<std::string> Leases::claim_now(const std::string& key, const std::string& value) {
  for (int i = 0; i < kMaxAttempts; ++i) {
    QUARRY_TRY_ASSIGN(const auto stored, stream_.put(Bucket::kRecords, key, value, 0));
    if (stored) return value;
    QUARRY_TRY_ASSIGN(const auto present, stream_.get(Bucket::kRecords, key));
    if (present) return present->value;
  }
  return contended(key);
}

void Leases::release(const std::string& key, const std::string& start, Answer answer) {
  run([=, this] { answer(release_now(key, start)); });
}

Result<std::string> Leases::release_now(const std::string& key, const std::string& start) {
  QUARRY_TRY_ASSIGN(const auto present, stream_.get(Bucket::kRecords, key));
  if (present && present->value.starts_with(start)) {
    QUARRY_TRY(stream_.erase(Bucket::kRecords, key, present->revision));
  }
  return "{}";
}

// --- leases --------------------------------------------------------------------------------------

void Leases::hold(const std::string& key, Answer answer) {
  run([=, this] { add(key, answer); });
}

void Leases::add(const std::string& key, const Answer& answer) {
  Held held{.id = ++last_id_, .revision = 0, .renewed = Clock::now(), .answer = answer};
  auto result = hold_now(key, held.revision);
  if (!result || !result->empty()) return answer(result);
  const std::uint64_t id = held.id;
  held_.emplace(key, std::move(held));
  // The deleter runs when the client disconnects.
  answer("held", std::shared_ptr<const void>(this, [key, id](Leases* leases) {
           leases->run([=] { leases->give_back(key, id); });
         }));
}

/// Gets the lease KEY and sets its REVISION. Returns an empty string, or the answer if another client
/// or host has the lease.
Result<std::string> Leases::hold_now(const std::string& key, std::uint64_t& revision) {
  if (held_.contains(key)) return "taken by " + options_.host;
  for (int i = 0; i < kMaxAttempts; ++i) {
    QUARRY_TRY_ASSIGN(const auto present, stream_.get(Bucket::kLeases, key));
    const std::string holder = present ? present->value.substr(0, present->value.find(' ')) : "";
    if (present && holder != options_.host) return "taken by " + holder;
    QUARRY_TRY_ASSIGN(const auto stored, stream_.put(Bucket::kLeases, key, own_value_,
                                                     present ? present->revision : 0));
    if (!stored) continue;
    revision = *stored;
    return "";
  }
  return contended(key);
}

/// Erases the lease KEY, unless it was lost and possibly taken again under another ID.
void Leases::give_back(const std::string& key, std::uint64_t id) {
  const auto held = held_.find(key);
  if (held == held_.end() || held->second.id != id) return;
  // If this fails, the lease expires.
  if (stream_.is_connected()) (void)stream_.erase(Bucket::kLeases, key, held->second.revision);
  held_.erase(held);
}

void Leases::renew() {
  bool is_reachable = stream_.is_connected();
  for (auto next = held_.begin(); next != held_.end();) {
    const auto at = next++;
    const bool is_due = Clock::now() - at->second.renewed >= options_.renew_interval;
    // After the first error, only look which leases are too old, because each attempt can take long.
    if (is_due && is_reachable) is_reachable = renew(at->first, at->second);
    if (Clock::now() - at->second.renewed < options_.lost_after) continue;
    base::log(base::LogLevel::kWarning, "lost the lease {}", at->first);
    at->second.answer(fail(ErrorCode::kBusy, "the lease {} was lost", at->first));
    held_.erase(at);
  }
}

/// Renews the lease KEY. If another host has taken it, makes it as old as a lost one. Returns whether
/// the stream has answered.
bool Leases::renew(const std::string& key, Held& held) {
  const TimePoint now = Clock::now();
  const auto stored = stream_.put(Bucket::kLeases, key, own_value_, held.revision);
  if (!stored) return false;
  if (*stored) {
    held.revision = **stored;
    held.renewed = now;
    return true;
  }
  // An earlier renewal without an answer might have changed the revision.
  const auto present = stream_.get(Bucket::kLeases, key);
  if (!present) return false;
  if (*present && (*present)->value == own_value_) {
    held.revision = (*present)->revision;
  } else {
    held.renewed = now - options_.lost_after;
  }
  return true;
}

}  // namespace quarry::replica
