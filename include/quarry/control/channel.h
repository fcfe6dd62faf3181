// What a child and the master may say to each other: fixed verbs with a number, never a path or an
// argument.
//
// One socket pair a child (SOCK_SEQPACKET, so that messages never run together or apart), so the
// master knows who speaks by where it reads, and believes nothing else about it. A message is 8
// bytes in the machine's order:
//
//   byte 0   layout version, 1        byte 2-3   0
//   byte 1   verb                     byte 4-7   number
//
// Neither end ever waits: a child whose master is behind drops the message (every verb may be
// repeated and none must arrive). The end of the stream tells a child that the master is gone.
#pragma once

#include <cstdint>
#include <string_view>
#include <utility>

#include "quarry/base/fd.h"
#include "quarry/base/result.h"

namespace quarry::control {

enum class Verb : std::uint8_t {
  /// The repository with this number in the master's own configuration may need a backoffice run.
  kBackoffice = 2,
  /// Of what runs once (Service::on_request), which is about to wait: others may have its place.
  kPause = 3,
  /// It would go on; the master answers with the same verb when there is a place.
  kResume = 4,
  /// The peer with this number in the master's own configuration may have something to get.
  kPeer = 5,
  /// Of what the master starts by itself: it has to run again in so many seconds.
  kAgain = 6,
};
std::string_view name_of(Verb verb);

struct Message {
  Verb verb;
  std::uint32_t number = 0;
};

enum class Received {
  kMessage,
  kNothing,    // for now
  kClosed,     // the other end is gone
  kMalformed,  // not a message: the other end is broken or hostile
};

class Channel {
 public:
  Channel() = default;
  explicit Channel(base::Fd fd) : fd_(std::move(fd)) {}

  /// That of a program which the master runs on request: its standard input, which is /dev/null from
  /// then on. A closed one where the program was started by somebody else.
  static Channel of_standard_input();

  /// The two ends of a new channel. Errors: kIo.
  static base::Result<std::pair<Channel, Channel>> make_pair();

  /// False when the message was dropped: the other end is behind or gone.
  bool send(Message message) const;
  /// Takes one message, into *MESSAGE.
  Received receive(Message* message) const;

  /// To wait for; -1 when closed.
  int fd() const { return fd_.get(); }
  void close() { fd_.reset(); }

 private:
  base::Fd fd_;
};

}  // namespace quarry::control
