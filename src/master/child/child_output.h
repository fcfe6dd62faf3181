// The output of children. The master captures the output in pipes and logs it line by line, as in
// PHP-FPM (catch_workers_output), or discards it.
//
//   [pool www] child 123 said into stderr: "what it said"
//
// A line that a program of ours has logged to standard error keeps its level:
//
//   [execution www] child 123: the message
//
// The master never blocks on a pipe. The master reads while the child is running, and reads the
// rest after the child has exited. A child blocks on a full pipe only while the master is busy. The
// log itself must not use the descriptor of standard error: see open_log().
#pragma once

#include <array>
#include <cstddef>
#include <functional>
#include <string>
#include <string_view>

#include "quarry/base/event_handles.h"
#include "quarry/base/fd.h"
#include "quarry/base/pipe.h"
#include "quarry/base/result.h"
#include "quarry/master/handover.h"

namespace quarry::master {

/// Splits output into lines of limited length for the log. Newlines are removed; all other
/// characters are kept.
class OutputLines {
 public:
  using Line = std::function<void(std::string_view)>;

  /// Creates a splitter. Lines longer than LIMIT bytes are split.
  explicit OutputLines(std::size_t limit) : limit_(limit) {}

  /// Adds output and calls LINE for each complete line.
  void add(std::string_view bytes, const Line& line);
  /// Removes and returns the output since the last newline.
  std::string take_rest();
  /// Returns the output since the last newline.
  const std::string& rest() const { return rest_; }

 private:
  std::size_t limit_;
  std::string rest_;
};

/// The two pipes of a child, created before the fork.
struct OutputPipes {
  base::Pipe out;
  base::Pipe err;

  /// Creates both pipes. Errors: kIo.
  static Result<OutputPipes> make();
};

/// Called in the child. Redirects standard input from /dev/null, and standard output and error to
/// PIPES. If PIPES is null, redirects output to /dev/null, and error too unless KEEPS_ERROR is set.
void redirect_standard_streams(const OutputPipes* pipes, bool keeps_error);

/// The master's ends of one child's pipes.
class ChildOutput {
 public:
  /// Logs the output in CAUGHT with LABEL, such as "[pool www] child 123". If CAUGHT.is_decorated,
  /// lines have the form above.
  ChildOutput(event_base* base, std::string label, CaughtOutput caught);
  ChildOutput(const ChildOutput&) = delete;
  ChildOutput& operator=(const ChildOutput&) = delete;

  /// Returns the state for the next master. The result does not own its descriptors: see
  /// take_back().
  CaughtOutput hand_over() const;
  /// Logs the rest of the output. Called after the child has exited.
  void finish();

 private:
  class Stream {
   public:
    Stream(event_base* base, const ChildOutput& owner, std::string_view name, CaughtStream caught);
    Stream(const Stream&) = delete;
    Stream& operator=(const Stream&) = delete;
    /// Reads available output, up to a limit per call. Returns false if no output was available.
    bool read();
    void close();
    CaughtStream hand_over() const;

   private:
    void log_line(std::string_view line, bool is_last) const;

    const ChildOutput& owner_;
    std::string_view name_;
    base::Fd fd_;
    OutputLines lines_;
    base::Event event_;  // declared after the descriptor that it watches
  };

  std::string label_;
  bool decorated_;
  std::array<Stream, 2> streams_;
};

}  // namespace quarry::master
