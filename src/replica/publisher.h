// Publishes the changes of this host's repositories. Some threads work through a queue of
// repositories; one repository is never in two threads. All callers that wait for a repository when
// its turn begins share this turn. Callers that arrive later wait for the next turn.
#pragma once

#include <chrono>
#include <condition_variable>
#include <deque>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "quarry/replica/stream.h"
#include "repositories.h"
#include "stream_health.h"

namespace quarry::replica {

struct PublisherOptions {
  std::string host;
  std::chrono::milliseconds acknowledge_timeout{10000};
  std::size_t threads = 4;
  std::chrono::milliseconds min_delay{1000};   // before a failed repository is tried again
  std::chrono::milliseconds max_delay{60000};  // doubles up to this
};

class Publisher {
 public:
  /// Called in a thread of the publisher, once.
  using Done = std::function<void(const Result<void>&)>;

  Publisher(Repositories& repositories, Stream& stream, StreamHealth& health,
            const PublisherOptions& options);
  ~Publisher() { stop(); }
  Publisher(const Publisher&) = delete;
  Publisher& operator=(const Publisher&) = delete;

  /// Tells that the stream can be reached, for the first time or again. Tries all failed repositories
  /// again now. Calls of publish() wait until the first call.
  void release();
  /// Publishes everything that ONE holds now, ahead of repositories that wait for examine(). Calls
  /// DONE when the stream has stored it.
  void publish(const ReplicatedPtr& one, Done done = {});
  /// Publishes ENTRIES of ONE if no message about its project follows POSITION. Returns false if one
  /// does. Waits for the stream. Does not use the repository, because the caller holds its write lock.
  Result<bool> land(const ReplicatedPtr& one, const sync::ReplicaPosition& position,
                    const std::vector<std::string>& entries);
  /// Looks for changes that no worker has reported, and publishes them.
  void examine(const ReplicatedPtr& one, Done done = {});
  /// Runs JOB in a thread.
  void run(std::function<void()> job);
  /// Ends the threads. Waits for publications in progress. Callers that still wait get an error.
  void stop();

 private:
  using TimePoint = std::chrono::steady_clock::time_point;
  enum class Queue : std::uint8_t { kNone, kUrgent, kIdle };

  /// A repository that is in a queue, in a thread, or waits for its next attempt.
  struct Turn {
    Queue place = Queue::kNone;
    bool is_running = false;
    Queue again = Queue::kNone;  // the queue after this turn
    std::vector<Done> waiters;
    std::chrono::milliseconds delay{0};
    std::optional<TimePoint> retry;
  };
  using Turns = std::map<ReplicatedPtr, Turn>;

  void enqueue(const ReplicatedPtr& one, Queue place, Done done);
  void put(const ReplicatedPtr& one, Turn& turn, Queue place);
  void work();
  void take_due();
  ReplicatedPtr take();
  void serve(std::unique_lock<std::mutex>& lock, const ReplicatedPtr& one);
  void finish(const ReplicatedPtr& one, bool is_done);
  Result<void> round(const ReplicatedPtr& one, std::vector<Done>& waiters);
  Result<void> send(const ReplicatedPtr& one, const std::vector<sync::OutgoingEntry>& entries);
  std::vector<NewStreamMessage> messages_for(const ReplicatedPtr& one, std::string_view content);
  bool note(const ReplicatedPtr& one, const Result<void>& result,
            const std::optional<FileState>& before);

  Repositories& repositories_;
  Stream& stream_;
  StreamHealth& health_;
  const PublisherOptions options_;
  std::mutex mutex_;  // guards the fields below
  std::condition_variable changed_;
  bool is_stopping_ = false;
  bool is_held_ = true;
  std::vector<std::pair<ReplicatedPtr, Done>> held_;  // calls of publish() before release()
  Turns turns_;
  // Elements of `urgent_` and `idle_` whose turn is no longer in that queue are skipped.
  std::deque<ReplicatedPtr> urgent_;
  std::deque<ReplicatedPtr> idle_;
  std::size_t idle_running_ = 0;
  std::set<std::pair<TimePoint, ReplicatedPtr>> retries_;
  std::deque<std::function<void()>> jobs_;
  std::vector<std::thread> threads_;
};

}  // namespace quarry::replica
