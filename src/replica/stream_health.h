// The state of this process's connection to the stream. Logs the first failure and the recovery, but
// not each attempt.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <mutex>
#include <string>

#include "quarry/base/result.h"
#include "quarry/base/time.h"
#include "quarry/replica/stream.h"

namespace quarry::replica {

class StreamHealth {
 public:
  struct State {
    bool is_connected = false;
    std::string error;  // why it is not connected
    StreamRange range;  // when the stream last answered
    // Time of this host minus that of the NATS servers, in milliseconds.
    std::int64_t clock_difference = 0;
  };

  /// STREAM is not owned. ON_BACK is called in the thread of refresh() when the connection is
  /// established or restored.
  StreamHealth(Stream& stream, std::function<void()> on_back)
      : stream_(stream), on_back_(std::move(on_back)) {}

  /// Fails with kBusy if nothing can be published now. Does not wait.
  Result<void> check() const;
  /// Returns whether the process has just started and the connection is not established yet.
  bool is_starting() const;
  /// Records that a call of the stream has failed with ERROR.
  void failed(const Error& error);
  /// Asks the stream for its range.
  void refresh();
  /// Records that this host has published the message SEQUENCE between the times SENT and ANSWERED.
  void published(std::uint64_t sequence, base::UnixMillis sent, base::UnixMillis answered);
  /// Records that the servers have stored this host's message SEQUENCE at the time STORED.
  void stored(std::uint64_t sequence, base::UnixMillis stored);
  State state() const;

 private:
  void compare_clocks();

  Stream& stream_;
  const std::function<void()> on_back_;
  const std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
  mutable std::mutex mutex_;  // guards the fields below
  State state_{.is_connected = false, .error = "not connected yet", .range = {}};
  bool is_failure_logged_ = false;
  bool is_clock_logged_ = false;
  struct {
    std::uint64_t sequence = 0;
    base::UnixMillis sent, answered;
  } published_;
  struct {
    std::uint64_t sequence = 0;
    base::UnixMillis time;
  } stored_;
};

}  // namespace quarry::replica
