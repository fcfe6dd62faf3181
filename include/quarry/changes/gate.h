// A gate: a program of the operator's that decides over a merged tree before anything of it is stored
// (quarry-changes(7)). It builds and runs what strangers submitted, so that all of it is hostile:
//
//   choom, nice                     first to go when memory is short, last when time is
//   setpriv                         another user, where we are root
//   bwrap                           namespaces of its own: users, processes, network, IPC, host name
//     /usr, /bin, /lib…, few of /etc   read only
//     /gate                         a tmpfs of limited size, the one place to write:
//       tree/                       the files, which is where it starts
//       files                       the names of those that the change set changes, a line each
//       tmp/                        also /tmp and $HOME
//   prlimit                         bounds for each process, and for their number
//   sh                              unpacks the tree from its standard input, and becomes the gate
//
// Nothing of it is left when it ends, whatever it did: its processes go with the first one of their
// namespace, its files with their tmpfs. Used by the execution daemon's children, from the thread
// that lives longest (a gate ends with the thread that started it). SIGPIPE has to be ignored.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "quarry/base/result.h"
#include "quarry/changes/tarball.h"

namespace quarry::changes {

struct GateOptions {
  std::vector<std::string> command;  // the program and its arguments; none: there is no gate
  bool is_sandboxed = true;          // false: it runs with our rights, in a folder under /tmp
  std::string user;                  // whom it becomes; only root can, and has to
  /// Paths that it may read, beside the system's.
  std::vector<std::string> readable;
  /// Paths that it may not see in any case: repositories, queues. It is refused where it would.
  std::vector<std::string> hidden;
  std::chrono::milliseconds timeout{600'000};
  std::uint64_t memory = std::uint64_t{2} << 30;  // bytes of all processes and files; 0: unbounded
  std::uint64_t disk = std::uint64_t{1} << 30;    // bytes of all files, which lie in memory
  std::uint64_t files = 200'000;                  // how many
  std::uint64_t processes = 256;                  // and threads
  // Of each process.
  std::chrono::seconds processor_time{600};
  std::uint64_t addresses = std::uint64_t{8} << 30;  // bytes; 0: unbounded
  std::uint64_t open_files = 1024;
};

/// Takes the files that a gate decides over.
class GateTree {
 public:
  explicit GateTree(TarballWriter& writer) : writer_(writer) {}
  /// NAME as check-ins have it; PERMISSION as artifact::FileCard has it.
  base::Result<void> add(std::string_view name, char permission, std::string_view content);
  /// All files and symbolic links in FOLDER, which nobody changes meanwhile.
  base::Result<void> add_folder(const std::filesystem::path& folder);

 private:
  TarballWriter& writer_;
};

/// What a gate is to decide.
struct GateCase {
  std::string change_set;  // its name
  std::string branch;
  std::string tip;  // the check-in that it was merged with; empty: none
  std::string author;
  std::vector<std::string> files;
  std::function<base::Result<void>(GateTree& tree)> write_tree;
};

enum class GateDecision : std::uint8_t {
  kLand,         // exit code 0
  kSkip,         // 99
  kTryLater,     // 111
  kFail,         // 100, and whatever else may happen to it
  kInterrupted,  // by us
};

struct GateVerdict {
  GateDecision decision = GateDecision::kFail;
  std::string reason;  // a line
  /// What it wrote to both of its streams, made harmless: the beginning and the end of it.
  std::string output;
};
inline constexpr std::size_t kMostGateOutput = std::size_t{64} << 10;  // bytes that are kept

/// The gate's verdict on CASE. INTERRUPTED is asked several times a second. Errors: kInvalid (the
/// options), kNotFound (a program is missing), kDenied, kIo: there is no verdict, since it could not
/// be run; what write_tree says.
base::Result<GateVerdict> run_gate(const GateOptions& options, const GateCase& gate_case,
                                   const std::function<bool()>& interrupted);
/// Whether gates can be run so: tries it with a program that does nothing. For the daemon's start.
base::Result<void> check_gate(const GateOptions& options);

}  // namespace quarry::changes
