// Messages between a child and the master. Each message is a fixed verb with a number, never a path
// or other text.
//
// Each child has its own socket pair (SOCK_SEQPACKET, which preserves message boundaries). The
// master identifies the sender by the socket. A message is 8 bytes in host byte order:
//
//   byte 0   layout version, 1        byte 2-3   delay (only for kBackoffice and kEvents)
//   byte 1   verb                     byte 4-7   number
//
// The master also sends reopened logs over the channel (reopened_logs.h).
//
// Neither end ever blocks. A message that does not fit into the socket's buffer is dropped. Lost or
// repeated messages are harmless for every verb. If the master exits, the child notices that the
// channel is closed.
#pragma once

#include <cstdint>
#include <utility>

#include "quarry/base/fd.h"
#include "quarry/base/result.h"

namespace quarry::control {

enum class Verb : std::uint8_t {
  /// The repository with this number in the master's configuration might need a backoffice run
  /// after the delay.
  kBackoffice = 2,
  /// A job (Service::on_request) begins to wait. While it waits, the master can start another job.
  kPause = 3,
  /// The job wants to continue. The master replies with the same verb when a slot is free.
  kResume = 4,
  /// The peer with this number in the master's configuration might have new artifacts.
  kPeer = 5,
  /// A job that the master starts periodically has to run again after this number of seconds.
  kAgain = 6,
  /// The repository with this number in the master's configuration might have new events. The
  /// master starts a job after the delay to send them.
  kEvents = 7,
  /// Figures of the peer that the child syncs with: the total number of received artifacts, the
  /// total number of sent artifacts, the number of consecutive failures, and the time of the last
  /// success in seconds since 1970 (0: never). kPeerSucceeded is sent last.
  kPeerReceived = 8,
  kPeerSent = 9,
  kPeerFailures = 10,
  kPeerSucceeded = 11,
};

struct Message {
  Verb verb;
  std::uint32_t number = 0;
  std::uint16_t delay = 0;  // seconds
};

enum class Received {
  kMessage,
  kNothing,    // no message yet
  kClosed,     // the other end has closed the channel
  kMalformed,  // an invalid message; the other end is broken or hostile
};

class Channel {
 public:
  Channel() = default;
  explicit Channel(base::Fd fd) : fd_(std::move(fd)) {}

  /// Returns the channel of a program that the master has started on request. The channel is the
  /// program's standard input, which is then replaced by /dev/null. Returns a closed channel if the
  /// master did not start the program.
  static Channel of_standard_input();

  /// Returns the two ends of a new channel. Errors: kIo.
  static Result<std::pair<Channel, Channel>> make_pair();

  /// Sends MESSAGE. Returns false if the buffer is full or the other end is closed; the message is
  /// then dropped.
  bool send(Message message) const;
  Received receive(Message* message) const;

  /// Returns the descriptor to poll, or -1 if the channel is closed.
  int fd() const { return fd_.get(); }
  void close() { fd_.reset(); }

 private:
  base::Fd fd_;
};

}  // namespace quarry::control
