// Messages between a child and the master. Each is a fixed verb with a number, never a path or an
// argument.
//
// Each child has its own socket pair (SOCK_SEQPACKET, which preserves message boundaries). So the
// master identifies the sender by the socket, and need not trust anything else. A message is 8
// bytes in host byte order:
//
//   byte 0   layout version, 1        byte 2-3   0
//   byte 1   verb                     byte 4-7   number
//
// Neither end ever blocks. A message that does not fit into the socket's buffer is dropped; that is
// harmless, because every verb may be repeated and none has to arrive. When the master ends, the
// child reads the end of the stream.
#pragma once

#include <cstdint>
#include <utility>

#include "quarry/base/fd.h"
#include "quarry/base/result.h"

namespace quarry::control {

enum class Verb : std::uint8_t {
  /// The repository with this number in the master's configuration may need a backoffice run.
  kBackoffice = 2,
  /// A job (Service::on_request) is about to wait; another job may use its slot.
  kPause = 3,
  /// The job wants to continue; the master replies with the same verb when a slot is free.
  kResume = 4,
  /// The peer with this number in the master's configuration may have new artifacts.
  kPeer = 5,
  /// A job that the master starts itself has to run again in this number of seconds.
  kAgain = 6,
};

struct Message {
  Verb verb;
  std::uint32_t number = 0;
};

enum class Received {
  kMessage,
  kNothing,    // no message yet
  kClosed,     // the other end has closed the channel
  kMalformed,  // not a valid message: the other end is broken or hostile
};

class Channel {
 public:
  Channel() = default;
  explicit Channel(base::Fd fd) : fd_(std::move(fd)) {}

  /// Returns the channel of a program that the master runs on request. It is the program's standard
  /// input, which is replaced by /dev/null. If the master did not start the program, the channel is
  /// closed.
  static Channel of_standard_input();

  /// Returns the two ends of a new channel. Errors: kIo.
  static base::Result<std::pair<Channel, Channel>> make_pair();

  /// Returns false if the message was dropped because the buffer is full or the other end is
  /// closed.
  bool send(Message message) const;
  /// Reads one message into *MESSAGE.
  Received receive(Message* message) const;

  /// Returns the descriptor to poll, or -1 if the channel is closed.
  int fd() const { return fd_.get(); }
  void close() { fd_.reset(); }

 private:
  base::Fd fd_;
};

}  // namespace quarry::control
