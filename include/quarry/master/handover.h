// The state that a master passes on when a reload replaces its program by execve(2). The process,
// its children and the descriptors listed here survive.
//
// The state is JSON in a memfd, whose number is in the environment variable QUARRY_HANDOVER. When
// the state is read, descriptors that were not inherited are rejected, and the others become
// close-on-exec again.
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

/// A listening socket, identified by its address.
struct InheritedSocket {
  std::string address;  // as SocketAddress::str()
  base::Fd fd;
  bool is_ours = true;  // false: the service manager opened it and owns its path
  /// The file of a Unix socket that is ours; shows whether another file has replaced it.
  std::optional<base::SocketFile> file{};
};

/// The master's end of a child's output pipe, and the output since the last newline.
struct CaughtStream {
  base::Fd fd;  // empty if the pipe is closed
  std::string rest{};
};

struct CaughtOutput {
  CaughtStream out;
  CaughtStream err;
  bool is_decorated = true;
};

/// A child of an earlier generation, which finishes its work.
struct PreviousChild {
  pid_t pid = -1;
  std::string service;  // such as "pool www"
  std::uint64_t generation = 0;
  std::int64_t asked_at = 0;  // monotonic_micros() when it was asked to end; 0 if it was not asked
                              // yet
  int quit_signal = SIGQUIT;  // the signal that asks it to end
  bool ends_last = false;     // see Service
  base::Fd control{};         // the master's end of its channel
  /// Its slot on its service's board, or nullopt if it writes to an older board.
  std::optional<std::size_t> slot{};
  std::optional<CaughtOutput> output{};  // nullopt if its output is not captured
  std::int64_t slow_request = 0;         // start of the last request in the slow log
  bool is_terminated = false;            // this master has sent it SIGTERM
};

/// The user and group whose processes can write to a board.
struct BoardWriter {
  std::uint64_t user = 0;
  std::uint64_t group = 0;

  bool operator==(const BoardWriter&) const = default;
};

/// The scoreboard of a service, with the state that the master keeps in private memory.
struct InheritedBoard {
  std::string service;  // such as "pool www"
  base::Fd fd;
  scoreboard::BoardLayout layout;
  BoardWriter writer;
  scoreboard::PoolState state;
};

struct Handover {
  std::uint64_t generation = 1;  // of the new master
  std::vector<InheritedSocket> sockets;
  std::vector<PreviousChild> previous_children;
  std::vector<InheritedBoard> boards;
  std::map<std::string, std::string> notes;  // the program's own values
};

/// Writes HANDOVER into a new memfd and makes the memfd and all descriptors in HANDOVER survive
/// execve(2). Errors: kIo, kLimit (the state is larger than a reader accepts).
base::Result<base::Fd> write_handover(const Handover& handover);
/// Called after execve(2) has failed. Releases the descriptors in HANDOVER without closing them and
/// makes them close-on-exec again. They are the master's own descriptors and not copies, because
/// the master may have reached its limit of open files.
void take_back(Handover& handover);
/// Returns the state that the previous master passed on, or nullopt on a first start. Errors:
/// kInvalid.
base::Result<std::optional<Handover>> take_handover();

/// Set for the configuration check before a reload: the addresses of the sockets that would be
/// handed over, one per line. All other addresses must be free.
inline constexpr const char* kInheritableVariable = "QUARRY_INHERITABLE";

inline constexpr const char* kHandoverVariable = "QUARRY_HANDOVER";

}  // namespace quarry::master
