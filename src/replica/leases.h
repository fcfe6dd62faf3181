// Claims and leases for work that only one host of the group may do, in the buckets of the stream
// (stream.h). Their keys are PROJECT.KEY. One thread queries the stream, so callers do not wait.
//
// The value of a lease is `HOST NONCE`, with a nonce for each process. A lease of an earlier process of
// this host is taken over at once, because all clients of that process have lost their connections.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>

#include "quarry/base/result.h"
#include "quarry/replica/stream.h"
#include "socket_server.h"

namespace quarry::replica {

struct LeasesOptions {
  std::string host;
  std::chrono::milliseconds renew_interval{10000};
  /// A lease is lost if it was not renewed for this time, although it does not expire for other
  /// hosts before StreamOptions::lease_time.
  std::chrono::milliseconds lost_after{20000};
};

class Leases {
 public:
  using Answer = SocketServer::Answer;

  /// STREAM is not owned.
  Leases(Stream& stream, const LeasesOptions& options);
  ~Leases() { stop(); }
  Leases(const Leases&) = delete;
  Leases& operator=(const Leases&) = delete;

  // See control/publication.h. KEY includes the project.
  void claim(const std::string& key, const std::string& value, Answer answer);
  void release(const std::string& key, const std::string& start, Answer answer);
  void hold(const std::string& key, Answer answer);
  /// Gives all leases back, and ends the thread.
  void stop();

 private:
  using TimePoint = std::chrono::steady_clock::time_point;
  struct Held {
    std::uint64_t id = 0;
    std::uint64_t revision = 0;
    TimePoint renewed;  // before the last successful renewal
    Answer answer;
  };

  void run(std::function<void()> task);
  void work();
  void renew();
  bool renew(const std::string& key, Held& held);
  Result<std::string> claim_now(const std::string& key, const std::string& value);
  Result<std::string> release_now(const std::string& key, const std::string& start);
  Result<std::string> hold_now(const std::string& key, std::uint64_t& revision);
  void add(const std::string& key, const Answer& answer);
  void give_back(const std::string& key, std::uint64_t id);

  Stream& stream_;
  const LeasesOptions options_;
  const std::string own_value_;
  // Used only by the thread.
  std::map<std::string, Held> held_;
  std::uint64_t last_id_ = 0;
  std::mutex mutex_;  // guards the fields below
  std::condition_variable changed_;
  bool is_stopping_ = false;
  bool has_ended_ = false;
  std::deque<std::function<void()>> tasks_;
  std::thread thread_;
};

}  // namespace quarry::replica
