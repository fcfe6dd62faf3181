// A running gate. Sends the tree to the gate, reads its output, and enforces its time limit.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "bounded_output.h"
#include "quarry/base/fd.h"
#include "quarry/base/result.h"
#include "quarry/changes/gate.h"

namespace quarry::changes {

class GateProcess {
 public:
  enum class End { kByItself, kTimedOut, kInterrupted, kTooMuchMemory, kTooManyFiles };

  /// Starts the command line WORDS in FOLDER. Also enforces the limits in OPTIONS that cannot be
  /// set per process. If the gate has a sandbox, WORDS starts bwrap, which reports the status of
  /// the gate.
  static Result<GateProcess> start(const std::vector<std::string>& words, const std::string& folder,
                                   const GateOptions& options, std::function<bool()> interrupted);
  GateProcess(GateProcess&&) = default;
  GateProcess& operator=(GateProcess&&) = delete;
  /// Kills the gate.
  ~GateProcess();

  /// Writes BYTES to the gate's standard input. Error: kDiscarded (the gate has closed its input or
  /// exited).
  Result<void> feed(std::string_view bytes);
  /// Closes the gate's standard input, and waits until the gate and all processes in its sandbox
  /// have exited.
  void wait();

  // The result of the gate. Call these functions after wait().

  End end() const { return end_; }
  /// Returns the gate's exit code. If a signal killed the gate, returns 128 plus the number of the
  /// signal, as in shells. Returns nullopt if the sandbox was killed or could not be set up.
  std::optional<int> exit_code() const;
  std::string output() const { return output_.text(); }

 private:
  GateProcess(pid_t pid, const GateOptions& options, std::function<bool()> interrupted)
      : pid_(pid),
        is_sandboxed_(options.is_sandboxed),
        max_memory_(options.memory),
        max_files_(options.files),
        interrupted_(std::move(interrupted)),
        deadline_(std::chrono::steady_clock::now() + options.timeout) {}

  bool has_ended();
  void exchange();
  void check_bounds();
  void read_output();
  void read_status();
  void stop(End why);
  void kill_all() const;

  pid_t pid_;
  bool is_sandboxed_;
  std::uint64_t max_memory_;  // 0 for no limit
  std::uint64_t max_files_;
  std::function<bool()> interrupted_;
  std::chrono::steady_clock::time_point deadline_;
  std::chrono::steady_clock::time_point next_check_{};
  base::Fd ending_;  // a pidfd; becomes readable when pid_ ends
  base::Fd input_;
  base::Fd output_end_;
  base::Fd status_end_;
  pid_t first_pid_ = -1;
  base::Fd first_;  // the first process of the sandbox; if it ends, the kernel kills the sandbox
  std::string status_text_;
  BoundedOutput output_{kMaxGateOutput};
  bool has_ended_ = false;
  std::optional<int> status_;  // as returned by waitpid()
  End end_ = End::kByItself;
};

}  // namespace quarry::changes
