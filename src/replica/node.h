// One host of the group: quarry-replica without its signals and the path of its socket. Tests run
// several hosts in one process.
//
//   SocketServer ──> Publisher ──> Stream ──> Applier
//   watch thread ──>  └── Repositories ──────────┘
//   SocketServer ──> Leases ──> Stream
#pragma once

#include <chrono>
#include <condition_variable>
#include <functional>
#include <list>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>

#include "applier.h"
#include "copies.h"
#include "join.h"
#include "lag.h"
#include "leases.h"
#include "peers.h"
#include "publisher.h"
#include "quarry/base/fd.h"
#include "quarry/base/log_throttle.h"
#include "quarry/replica/replica.h"
#include "quarry/replica/stream.h"
#include "repositories.h"
#include "socket_server.h"
#include "stream_health.h"

namespace quarry::replica {

class Node {
 public:
  /// STREAM is not owned. Starts the threads.
  Node(const ReplicaOptions& options, Stream& stream);
  ~Node() { stop(); }
  Node(const Node&) = delete;
  Node& operator=(const Node&) = delete;

  /// See SocketServer::run(). Errors: kIo.
  Result<void> serve(base::Fd listener, int fd, const std::function<bool()>& goes_on);
  /// Ends the threads, and saves what a later start needs. Waits for publications in progress.
  void stop();

 private:
  void watch();
  bool sleep(std::chrono::milliseconds time);
  void list();
  void save();
  void examine_changed();
  void handle(std::string_view request, SocketServer::Answer answer);
  Result<void> publish(std::string_view words, const SocketServer::Answer& answer, bool waits);
  Result<void> join(std::string_view words, const SocketServer::Answer& answer);
  void leave(const SocketServer::Answer& answer);
  Result<void> land(std::string_view request, const SocketServer::Answer& answer);
  Result<void> catch_up(std::string_view words, const SocketServer::Answer& answer);
  Result<void> describe(std::string_view words, const SocketServer::Answer& answer);
  Result<void> claim(std::string_view verb, std::string_view words,
                     const SocketServer::Answer& answer);
  Result<void> check_is_current(const Replicated& one) const;
  Result<std::string> describe(const ReplicatedPtr& one);
  Result<void> wait(std::string_view words, const SocketServer::Answer& answer);
  void answer_waiters();
  void write_state();
  std::string status() const;

  /// A client that waits until the message `sequence` has been applied.
  struct Waiter {
    ReplicatedPtr one;
    std::uint64_t sequence = 0;
    std::chrono::steady_clock::time_point deadline;
    SocketServer::Answer answer;
  };

  const ReplicaOptions options_;
  StreamHealth health_;
  Applier applier_;
  Repositories repositories_;
  Leases leases_;
  Publisher publisher_;
  Copies copies_;
  Peers peers_;
  Join join_;
  mutable std::mutex mutex_;  // guards the fields below
  std::condition_variable changed_;
  bool is_stopping_ = false;
  std::size_t unknown_ = 0;  // repositories to open before the applier starts
  bool is_current_ = false;  // whether everything from before the start has been applied
  Lag lag_;
  std::chrono::milliseconds latest_lag_{0};
  std::list<Waiter> waiters_;
  base::LogThrottle state_log_;  // used only by the thread
  std::thread watch_;
};

}  // namespace quarry::replica
