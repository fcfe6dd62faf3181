// What a master leaves to the program that takes its place by execve(2) on a reload: the process
// stays, and with it its children; so do the descriptors named here.
//
// It is written as JSON into a memfd, whose number is in the environment variable QUARRY_HANDOVER.
// Only descriptors that are inherited are believed to be what it says; all are close-on-exec again
// once it was read.
#pragma once

#include <sys/types.h>
#include <csignal>

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "quarry/base/fd.h"
#include "quarry/base/result.h"
#include "quarry/base/socket.h"
#include "quarry/scoreboard/scoreboard.h"

namespace quarry::master {

/// A listening socket. Which one it is, its address says.
struct InheritedSocket {
  std::string address;  // as SocketAddress::str()
  base::Fd fd;
  bool is_ours = true;  // otherwise its path is the service manager's, who opened it
  /// Of a Unix socket that is ours: which file it is, to tell it from one that took its place.
  std::optional<base::SocketFile> file{};
};

/// What a child prints into: the master's end, and what came since the last newline.
struct CaughtStream {
  base::Fd fd;  // none: nothing more can come
  std::string rest{};
};

struct CaughtOutput {
  CaughtStream out;
  CaughtStream err;
  bool is_decorated = true;
};

/// A child of an earlier generation, which finishes what it has begun.
struct PreviousChild {
  pid_t pid = -1;
  std::string service;  // "pool www"
  std::uint64_t generation = 0;
  std::int64_t asked_at = 0;  // monotonic_micros() of the request to end; 0: not yet
  int quit_signal = SIGQUIT;  // which says so
  bool ends_last = false;     // see Service
  base::Fd control{};         // the master's end of its channel
  /// Of its service's board; nothing where that is not the one that it writes to.
  std::optional<std::size_t> slot{};
  std::optional<CaughtOutput> output{};  // nothing: what it prints is not caught
  std::int64_t slow_request = 0;         // start of the request that the slow log has already
  bool is_terminated = false;            // since this master was started
};

/// Whose processes can write to a board.
struct BoardWriter {
  std::uint64_t user = 0;
  std::uint64_t group = 0;

  bool operator==(const BoardWriter&) const = default;
};

/// The scoreboard of a service, and what only its master knew for sure.
struct InheritedBoard {
  std::string service;  // "pool www"
  base::Fd fd;
  scoreboard::BoardLayout layout;
  BoardWriter writer;
  scoreboard::PoolState state;
};

struct Handover {
  std::uint64_t generation = 1;  // of the master that takes it: one more than that of the last
  std::vector<InheritedSocket> sockets;
  std::vector<PreviousChild> previous_children;
  std::vector<InheritedBoard> boards;
  std::map<std::string, std::string> notes;  // what the program wants to know again
};

/// Writes HANDOVER into a new memfd and lets it and all that it names survive execve(2). Errors:
/// kIo, kLimit (it would not be read).
base::Result<base::Fd> write_handover(const Handover& handover);
/// Where there was no execve(2): HANDOVER has no descriptors any more, without closing them, which
/// are as they were. A master lends its own, since it may have as many as it is allowed to have.
void take_back(Handover& handover);
/// What an earlier master left in the environment; nothing where this is a first start. Errors:
/// kInvalid.
base::Result<std::optional<Handover>> take_handover();

/// In the environment of the check before a reload: addresses of the sockets that would be handed
/// over, one a line. The others have to be free.
inline constexpr const char* kInheritableVariable = "QUARRY_INHERITABLE";

/// The name of the environment variable.
inline constexpr const char* kHandoverVariable = "QUARRY_HANDOVER";

}  // namespace quarry::master
