#include "publisher.h"

#include <algorithm>
#include <utility>

#include "quarry/base/log.h"
#include "quarry/replica/entry.h"

namespace quarry::replica {
namespace {

using base::LogLevel;
using std::chrono::milliseconds;
using Clock = std::chrono::steady_clock;

// Number of entries that are in memory at the same time.
constexpr std::size_t kEntriesAtOnce = 16;
// Commits within this time can give a file the same modification time.
constexpr std::chrono::milliseconds kClockStep{100};

base::UnixMillis now() {
  return base::system_clock().now();
}

/// Returns whether every commit from now on changes STATE.
bool is_settled_now(const FileState& state) {
  const std::int64_t last = std::max(state.time, state.log_time) / 1'000'000;
  return std::abs(now().value - last) >= kClockStep.count();
}

const Error& stopping() {
  static const Error error{ErrorCode::kBusy, "quarry-replica is stopping"};
  return error;
}

void answer(std::vector<Publisher::Done>& waiters, const Result<void>& result) {
  for (const Publisher::Done& done : waiters) {
    if (done) done(result);
  }
  waiters.clear();
}

}  // namespace

Publisher::Publisher(Repositories& repositories, Stream& stream, StreamHealth& health,
                     const PublisherOptions& options)
    : repositories_(repositories), stream_(stream), health_(health), options_(options) {
  for (std::size_t i = 0; i < options.threads; ++i) threads_.emplace_back([this] { work(); });
}

void Publisher::stop() {
  std::vector<std::thread> threads;
  {
    const std::lock_guard lock(mutex_);
    is_stopping_ = true;
    threads.swap(threads_);
  }
  changed_.notify_all();
  for (std::thread& each : threads) each.join();
  std::vector<Done> waiters;
  {
    const std::lock_guard lock(mutex_);
    for (auto& [one, turn] : turns_) std::ranges::move(turn.waiters, std::back_inserter(waiters));
    turns_.clear();
    for (auto& [one, done] : std::exchange(held_, {})) waiters.push_back(std::move(done));
  }
  answer(waiters, std::unexpected(stopping()));
}

void Publisher::publish(const ReplicatedPtr& one, Done done) {
  {
    const std::lock_guard lock(mutex_);
    if (is_held_ && !is_stopping_) {
      held_.emplace_back(one, std::move(done));
      return;
    }
  }
  enqueue(one, Queue::kUrgent, std::move(done));
}

void Publisher::examine(const ReplicatedPtr& one, Done done) {
  enqueue(one, Queue::kIdle, std::move(done));
}

void Publisher::run(std::function<void()> job) {
  {
    const std::lock_guard lock(mutex_);
    jobs_.push_back(std::move(job));
  }
  changed_.notify_one();
}

void Publisher::release() {
  std::vector<std::pair<ReplicatedPtr, Done>> held;
  {
    const std::lock_guard lock(mutex_);
    is_held_ = false;
    held.swap(held_);
  }
  for (auto& [one, done] : held) publish(one, std::move(done));
  {
    const std::lock_guard lock(mutex_);
    for (const auto& [time, one] : std::exchange(retries_, {})) {
      Turn& turn = turns_[one];
      turn.retry.reset();
      turn.delay = {};
      put(one, turn, Queue::kIdle);
    }
  }
  changed_.notify_all();
}

void Publisher::enqueue(const ReplicatedPtr& one, Queue place, Done done) {
  {
    const std::lock_guard lock(mutex_);
    if (!is_stopping_) {
      Turn& turn = turns_[one];
      if (turn.retry && place == Queue::kIdle && !done) return;
      if (turn.retry) retries_.erase({*std::exchange(turn.retry, std::nullopt), one});
      if (done) turn.waiters.push_back(std::exchange(done, {}));
      put(one, turn, place);
    }
  }
  if (done) return done(std::unexpected(stopping()));
  changed_.notify_one();
}

/// Puts ONE into a queue, or behind its present turn. mutex_ must be locked.
void Publisher::put(const ReplicatedPtr& one, Turn& turn, Queue place) {
  Queue& wanted = turn.is_running ? turn.again : turn.place;
  if (wanted == place || wanted == Queue::kUrgent) return;
  wanted = place;
  if (!turn.is_running) (place == Queue::kUrgent ? urgent_ : idle_).push_back(one);
}

// --- threads -------------------------------------------------------------------------------------

void Publisher::work() {
  std::unique_lock lock(mutex_);
  for (;;) {
    take_due();
    if (is_stopping_) return;
    if (!jobs_.empty()) {
      const auto job = std::move(jobs_.front());
      jobs_.pop_front();
      lock.unlock();
      job();
      lock.lock();
    } else if (const ReplicatedPtr one = take()) {
      serve(lock, one);
    } else if (retries_.empty()) {
      changed_.wait(lock);
    } else {
      changed_.wait_until(lock, TimePoint(retries_.begin()->first));
    }
  }
}

void Publisher::take_due() {
  while (!retries_.empty() && retries_.begin()->first <= Clock::now()) {
    const ReplicatedPtr one = retries_.extract(retries_.begin()).value().second;
    Turn& turn = turns_[one];
    turn.retry.reset();
    put(one, turn, Queue::kIdle);
  }
}

/// Returns the next repository, or null. One thread stays free for urgent ones.
ReplicatedPtr Publisher::take() {
  for (const Queue place : {Queue::kUrgent, Queue::kIdle}) {
    std::deque<ReplicatedPtr>& ones = place == Queue::kUrgent ? urgent_ : idle_;
    if (place == Queue::kIdle && idle_running_ + 1 >= std::max<std::size_t>(options_.threads, 2)) {
      continue;
    }
    while (!ones.empty()) {
      ReplicatedPtr one = std::move(ones.front());
      ones.pop_front();
      const auto turn = turns_.find(one);
      if (turn != turns_.end() && turn->second.place == place) return one;
    }
  }
  return nullptr;
}

void Publisher::serve(std::unique_lock<std::mutex>& lock, const ReplicatedPtr& one) {
  Turn& turn = turns_[one];
  const bool is_idle = std::exchange(turn.place, Queue::kNone) == Queue::kIdle;
  turn.is_running = true;
  std::vector<Done> waiters = std::exchange(turn.waiters, {});
  if (is_idle) ++idle_running_;
  lock.unlock();
  const Result<void> published = round(one, waiters);
  answer(waiters, published);
  repositories_.keep_log_short(one);
  lock.lock();
  if (is_idle) --idle_running_;
  // Do not retry if the file does not exist: it is examined when it appears again.
  finish(one, published || published.error().code == ErrorCode::kNotFound);
  // This thread takes one of them.
  if (urgent_.size() + idle_.size() > 1) changed_.notify_one();
}

/// Ends the turn of ONE. mutex_ must be locked.
void Publisher::finish(const ReplicatedPtr& one, bool is_done) {
  const auto at = turns_.find(one);
  Turn& turn = at->second;
  turn.is_running = false;
  turn.delay = is_done ? milliseconds(0)
                       : std::clamp(turn.delay * 2, options_.min_delay, options_.max_delay);
  const Queue again = std::exchange(turn.again, Queue::kNone);
  if (again == Queue::kUrgent || (again == Queue::kIdle && is_done)) {
    put(one, turn, again);
  } else if (is_done) {
    turns_.erase(at);
  } else {
    turn.retry = Clock::now() + turn.delay;
    retries_.emplace(*turn.retry, one);
  }
}

// --- one turn ------------------------------------------------------------------------------------

/// Publishes everything that ONE holds. Answers WAITERS as soon as the stream has stored it. After an
/// error, the caller has to answer them.
Result<void> Publisher::round(const ReplicatedPtr& one, std::vector<Done>& waiters) {
  const auto before = file_state(one->path);
  if (!before) return fail(ErrorCode::kNotFound, "{} does not exist", one->path.string());
  const bool is_settled = is_settled_now(*before);
  const auto end = Clock::now() + options_.acknowledge_timeout;
  // Retry, because another process might hold the write lock for longer than
  // OpenOptions::busy_timeout.
  const auto use = [&](const Repositories::Action& action) {
    Result<void> done = repositories_.use(one, action);
    while (!done && done.error().code == ErrorCode::kBusy && !waiters.empty() &&
           Clock::now() < end) {
      std::this_thread::sleep_for(milliseconds(10));
      done = repositories_.use(one, action);
    }
    return done;
  };
  std::vector<sync::OutgoingEntry> entries;
  bool is_complete = false;
  const auto read = [&](sync::Replication& replication) -> Result<void> {
    QUARRY_TRY_ASSIGN(entries, replication.outgoing(kEntriesAtOnce));
    is_complete = replication.is_complete();
    return {};
  };
  Result<void> result = use([&](sync::Replication& replication) -> Result<void> {
    QUARRY_TRY(replication.find_changes());
    return read(replication);
  });
  bool is_reported = false;  // StreamHealth logs errors of the stream
  while (result && !entries.empty()) {
    repositories_.change(*one, [](Facts& facts) {
      if (!facts.unpublished_since) facts.unpublished_since = now();
    });
    result = send(one, entries);
    if (!result) {
      is_reported = true;
      break;
    }
    // Answer first, because another process might hold the write lock that published() needs.
    if (is_complete) answer(waiters, {});
    result = use([&](sync::Replication& replication) -> Result<void> {
      QUARRY_TRY(replication.published(entries));
      return read(replication);
    });
  }
  const bool is_news = note(one, result, is_settled ? before : std::nullopt);
  if (is_news && !result && !is_reported && result.error().code != ErrorCode::kBusy &&
      !repositories_.is_stopping()) {
    base::log(LogLevel::kWarning, "cannot publish: {}", result.error().message);
  }
  return result;
}

std::vector<NewStreamMessage> Publisher::messages_for(const ReplicatedPtr& one,
                                                      std::string_view content) {
  return messages_of(repositories_.facts(*one).project, options_.host, content,
                     stream_.max_content());
}

Result<void> Publisher::send(const ReplicatedPtr& one,
                             const std::vector<sync::OutgoingEntry>& entries) {
  QUARRY_TRY(health_.check());
  std::vector<NewStreamMessage> messages;
  for (const sync::OutgoingEntry& each : entries) {
    std::ranges::move(messages_for(one, each.content), std::back_inserter(messages));
    // A change must be stored before the next one is sent (see sync/replication.h).
    if (each.number == 0 && &each != &entries.back()) continue;
    const base::UnixMillis sent = now();
    const auto stored = stream_.publish(messages, options_.acknowledge_timeout);
    if (!stored) {
      health_.failed(stored.error());
      return std::unexpected(stored.error());
    }
    health_.published(*stored, sent, now());
    repositories_.change(*one, [&](Facts& facts) { facts.published = *stored; });
    messages.clear();
  }
  return {};
}

Result<bool> Publisher::land(const ReplicatedPtr& one, const sync::ReplicaPosition& position,
                             const std::vector<std::string>& entries) {
  QUARRY_TRY(health_.check());
  if (repositories_.facts(*one).project.empty()) {
    return fail(ErrorCode::kBusy, "the repository is not replicated yet");
  }
  QUARRY_TRY_ASSIGN(const StreamRange range, stream_.range());
  std::uint64_t last = position.created == range.created ? position.sequence : 0;
  for (const std::string& each : entries) {
    const auto stored =
        stream_.publish_after(last, messages_for(one, each), options_.acknowledge_timeout);
    if (!stored && stored.error().code == ErrorCode::kConflict) return false;
    if (!stored) {
      health_.failed(stored.error());
      return std::unexpected(stored.error());
    }
    last = *stored;
  }
  return true;
}

/// Records the RESULT of a turn that began at the state BEFORE. Returns whether the error differs
/// from that of the previous turn.
bool Publisher::note(const ReplicatedPtr& one, const Result<void>& result,
                     const std::optional<FileState>& before) {
  const std::string error = result ? "" : result.error().message;
  bool is_news = false;
  repositories_.change(*one, [&](Facts& facts) {
    is_news = facts.publish_error != error;
    facts.publish_error = error;
    if (!result) return;
    facts.unpublished_since.reset();
    if (before) facts.examined = before;
  });
  return is_news;
}

}  // namespace quarry::replica
