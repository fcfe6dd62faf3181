// A gate is a program, configured by the administrator, that accepts or rejects a merged tree
// before it is stored (quarry-changes(7)). The gate builds and runs submitted code. Therefore, it
// runs as an untrusted process, which is started through these programs:
//
//   choom, nice                     low priority; first process to be killed if memory is short
//   setpriv                         switches to another user if we are root
//   bwrap                           separate namespaces: users, processes, network, IPC, host name
//     /usr, /bin, /lib…, parts of /etc   read-only
//     /gate                         a tmpfs of limited size, the only writable place:
//       tree/                       the files; also the working directory
//       files                       names of the files that the change set changes, one per line
//       tmp/                        also /tmp and $HOME
//   prlimit                         limits for each process, and on the number of processes
//   sh                              unpacks the tree from its standard input, then execs the gate
//
// When the first process of the namespace ends, the kernel kills all other processes of the gate.
// The files of the gate are removed with the tmpfs. Children of the execution daemon run gates from
// their main thread, because a gate is killed when the thread that started it ends. SIGPIPE must be
// ignored.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "quarry/base/result.h"
#include "quarry/changes/tree.h"

namespace quarry::changes {

struct GateOptions {
  std::vector<std::string> command;  // the program and its arguments; empty if there is no gate
  /// If false, the gate runs with our privileges, in a folder below /tmp.
  bool is_sandboxed = true;
  /// The user that runs the gate. Required if we are root. Otherwise, only our own user is allowed.
  std::string user;
  /// Paths that the gate can read in addition to the system's files.
  std::vector<std::string> readable;
  /// Paths to which the gate must never have access: repositories and queues. Options that expose
  /// such a path are rejected.
  std::vector<std::string> hidden;
  std::chrono::milliseconds timeout{600'000};
  std::uint64_t memory = std::uint64_t{2} << 30;  // bytes for all processes and files; 0: no limit
  std::uint64_t disk = std::uint64_t{1} << 30;    // bytes of all files; the tmpfs is in memory
  std::uint64_t files = 200'000;                  // number of files
  std::uint64_t processes = 256;                  // including threads
  // The following limits apply to each process.
  std::chrono::seconds processor_time{600};
  std::uint64_t addresses = std::uint64_t{8} << 30;  // bytes of address space; 0 for no limit
  std::uint64_t open_files = 1024;
};

struct GateCase {
  std::string change_set;  // the name of the change set
  std::string branch;
  std::string tip;  // the check-in with which the change set was merged; may be empty
  std::string author;
  std::vector<std::string> files;
  /// Calls VISIT with each file of the tree. Optional.
  std::function<Result<void>(const FileVisitor& visit)> visit_tree;
};

enum class GateDecision : std::uint8_t {
  kLand,         // exit code 0
  kSkip,         // exit code 99
  kTryLater,     // exit code 111
  kFail,         // exit code 100, any other exit code, or killed
  kInterrupted,  // stopped because `interrupted` returned true
};

struct GateVerdict {
  GateDecision decision = GateDecision::kFail;
  std::string reason;  // one line
  /// The beginning and the end of the gate's standard output and standard error, with control
  /// characters escaped.
  std::string output;
};
inline constexpr std::size_t kMaxGateOutput = std::size_t{64} << 10;  // bytes

/// Checks that the gate can be run: its options, its user, bwrap, and the program with the
/// interpreter of a script. Does not check a program in the tree. Errors: kInvalid, kNotFound,
/// kDenied.
Result<void> check_gate(const GateOptions& options);

/// Runs the gate. INTERRUPTED is polled several times a second. Errors if the gate could not be
/// run: errors from check_gate(), kDenied (the system does not allow the sandbox), kIo, errors from
/// visit_tree.
Result<GateVerdict> run_gate(const GateOptions& options, const GateCase& gate_case,
                             const std::function<bool()>& interrupted);

}  // namespace quarry::changes
