// The state that a master passes on when a reload replaces its program by execve(2). The process,
// its children and the descriptors in the Handover survive.
//
// The state is JSON in a memfd. The environment variable QUARRY_HANDOVER contains the memfd's
// descriptor. The reader rejects descriptors that were not inherited. It makes inherited
// descriptors close-on-exec again.
#pragma once

#include <sys/types.h>
#include <csignal>

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "quarry/base/fd.h"
#include "quarry/base/result.h"
#include "quarry/base/socket.h"
#include "quarry/master/credentials.h"
#include "quarry/scoreboard/scoreboard.h"

namespace quarry::master {

/// A listening socket, identified by its address. The descriptor is shared, so that it stays open
/// if the start fails.
struct InheritedSocket {
  std::string address;  // as SocketAddress::str()
  std::shared_ptr<base::Fd> fd;
  bool is_ours = true;  // false: opened by the service manager, which owns the path
  /// The file of a Unix socket that is ours, to detect whether another file has replaced it.
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

/// A child that belongs to an earlier generation and is finishing its work.
struct PreviousChild {
  pid_t pid = -1;
  std::string service;  // such as "pool www"
  std::uint64_t generation = 0;
  std::int64_t asked_at = 0;    // monotonic_micros() when the child was asked to exit; 0: not asked
  int quit_signal = SIGQUIT;    // signal that asks the child to exit
  bool ends_last = false;       // see Service
  bool ends_by_itself = false;  // see Service
  base::Fd control{};           // the master's end of the child's channel
  /// The child's slot on its service's current board, or nullopt if the child uses an older board.
  std::optional<std::size_t> slot{};
  std::optional<CaughtOutput> output{};  // nullopt if the child's output is not captured
  std::int64_t slow_request = 0;         // start of the last request that is in the slow log
  bool is_terminated = false;            // whether this master has sent SIGTERM
};

/// The user and group of the processes that can write to a board.
struct BoardWriter {
  std::uint64_t user = 0;
  std::uint64_t group = 0;

  bool operator==(const BoardWriter&) const = default;
};
/// Returns the writer for children that run as RUN_AS, or as the master's user if it is nullopt.
BoardWriter writer_for(const std::optional<Credentials>& run_as);

/// The scoreboard of a service, with the state that the master keeps in private memory.
struct InheritedBoard {
  std::string service;  // such as "pool www"
  base::Fd fd;
  scoreboard::BoardLayout layout;
  BoardWriter writer;
  scoreboard::PoolState state;
};

/// Memory that a service passes on (Service::kept_memories).
struct InheritedMemory {
  std::string name;
  base::Fd fd;
  std::uint64_t layout = 0;
  BoardWriter writer;
};

/// The counters of services other than pools, by service and name.
using ServiceCounters = std::map<std::string, std::map<std::string, std::uint64_t>>;

struct Handover {
  std::uint64_t generation = 1;  // of the new master
  std::vector<InheritedSocket> sockets;
  std::vector<PreviousChild> previous_children;
  std::vector<InheritedBoard> boards;
  std::vector<InheritedMemory> memories;
  ServiceCounters counters;
  std::map<std::string, std::string> notes;  // texts that quarryd keeps across reloads
};

/// Writes HANDOVER to a new memfd. Makes the memfd and all descriptors in HANDOVER survive
/// execve(2). Errors: kIo, kLimit (the state exceeds the reader's limit).
Result<base::Fd> write_handover(const Handover& handover);
/// Undoes write_handover() after execve(2) has failed: releases the descriptors in HANDOVER without
/// closing them, and makes them close-on-exec again. HANDOVER contains the master's own descriptors
/// instead of copies, because a master at its limit of open files could not make copies.
void take_back(Handover& handover);
/// Returns the state that the previous master has passed on. Returns nullopt for the first master.
/// Errors: kInvalid.
Result<std::optional<Handover>> take_handover();

/// Environment variable for the configuration check before a reload. The value contains the
/// addresses of the sockets that the reload passes on, one per line. If another process uses a
/// configured address that is not listed, the check fails.
inline constexpr const char* kInheritableVariable = "QUARRY_INHERITABLE";

inline constexpr const char* kHandoverVariable = "QUARRY_HANDOVER";

}  // namespace quarry::master
