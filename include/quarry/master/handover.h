// What a master leaves to the program that takes its place by execve(2) on a reload: the process
// stays, and with it its children; so do the descriptors named here.
//
// It is written as JSON into a memfd, whose number is in the environment variable QUARRY_HANDOVER.
// Only descriptors that are inherited are believed to be what it says; all are close-on-exec again
// once it was read.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "quarry/base/fd.h"
#include "quarry/base/result.h"

namespace quarry::master {

/// A listening socket. Which one it is, its address says.
struct InheritedSocket {
  std::string address;  // as SocketAddress::str()
  base::Fd fd;
  bool is_ours = true;  // otherwise its path is the service manager's, who opened it
};

/// A child of an earlier generation, which finishes what it has begun.
struct Elder {
  pid_t pid = -1;
  std::string service;  // "pool www"
  std::uint64_t generation = 0;
  std::int64_t asked_at = 0;  // monotonic_micros() of the request to end; 0: not yet
  base::Fd control;           // the master's end of its channel
};

struct Handover {
  std::uint64_t generation = 1;  // of the master that takes it: one more than that of the last
  std::vector<InheritedSocket> sockets;
  std::vector<Elder> elders;
  std::map<std::string, std::string> notes;  // what the program wants to know again
};

/// Writes HANDOVER into a new memfd and lets it and all that it names survive execve(2): duplicates
/// of the master's own, best, which are closed with HANDOVER where that fails. Errors: kIo.
base::Result<base::Fd> write_handover(const Handover& handover);
/// What an earlier master left in the environment; nothing where this is a first start. Errors:
/// kInvalid.
base::Result<std::optional<Handover>> take_handover();

/// In the environment of the check before a reload: addresses of the sockets that would be handed
/// over, one a line. The others have to be free.
inline constexpr const char* kInheritableVariable = "QUARRY_INHERITABLE";

/// The name of the environment variable.
inline constexpr const char* kHandoverVariable = "QUARRY_HANDOVER";

}  // namespace quarry::master
