// A gate while it runs: fed with its tree, listened to, and ended when it takes too long.
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

  /// Starts WORDS in FOLDER, and minds those bounds of OPTIONS that no process's limits are. In a
  /// sandbox WORDS are bwrap's, which tells what it does.
  static base::Result<GateProcess> start(const std::vector<std::string>& words,
                                         const std::string& folder, const GateOptions& options,
                                         std::function<bool()> interrupted);
  GateProcess(GateProcess&&) = default;
  GateProcess& operator=(GateProcess&&) = delete;
  /// Ends it.
  ~GateProcess();

  /// Hands BYTES to its standard input. Errors: kDiscarded, it reads no more, or has ended.
  base::Result<void> feed(std::string_view bytes);
  /// Closes its standard input, and waits for its end, and that of all that it has started in its
  /// sandbox.
  void wait();

  // After wait().

  End end() const { return end_; }
  /// Its exit code, with 128 and more for a signal, as shells have it; nothing: it was never begun, as
  /// the sandbox could not be made, or was torn down.
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
  void look_at_bounds();
  void read_output();
  void read_status();
  void stop(End why);
  void kill_all() const;

  pid_t pid_;
  bool is_sandboxed_;
  std::uint64_t max_memory_;  // 0: unbounded
  std::uint64_t max_files_;
  std::function<bool()> interrupted_;
  std::chrono::steady_clock::time_point deadline_;
  std::chrono::steady_clock::time_point next_look_{};
  base::Fd ending_;  // readable once pid_ has ended
  base::Fd input_;
  base::Fd output_end_;
  base::Fd status_end_;
  pid_t first_pid_ = -1;
  base::Fd first_;  // the first process of the sandbox, with which the others end
  std::string status_text_;
  BoundedOutput output_{kMostGateOutput};
  bool has_ended_ = false;
  std::optional<int> status_;  // as waitpid() has it
  End end_ = End::kByItself;
};

}  // namespace quarry::changes
