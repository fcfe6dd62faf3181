// What the children print: caught in pipes by the master and told to the log line by line, as
// PHP-FPM does (catch_workers_output), or dropped.
//
//   [pool www] child 123 said into stderr: "what it said"
//
// The master never waits for a child here, and reads as long as the child lives, so that a child
// waits no longer than the master is busy. When the child is dead, what is left in the pipes is
// read, too. The log itself must not go through standard error's descriptor: see open_log().
#pragma once

#include <array>
#include <string>
#include <string_view>

#include "output_lines.h"
#include "quarry/base/event_handles.h"
#include "quarry/base/fd.h"
#include "quarry/base/pipe.h"
#include "quarry/base/result.h"
#include "quarry/master/handover.h"

namespace quarry::master {

/// The two pipes of a child, made before the fork.
struct OutputPipes {
  base::Pipe out;
  base::Pipe err;

  /// Errors: kIo.
  static base::Result<OutputPipes> make();
};

/// In the child: standard input is empty, and standard output and error go into PIPES, or nowhere
/// when there are none.
void redirect_standard_streams(const OutputPipes* pipes);

/// The master's ends of one child's pipes.
class ChildOutput {
 public:
  /// LABEL: "[pool www] child 123". CAUGHT says whether lines are told as above, or bare.
  ChildOutput(event_base* base, std::string label, CaughtOutput caught);
  ChildOutput(const ChildOutput&) = delete;
  ChildOutput& operator=(const ChildOutput&) = delete;

  /// The same for another master, which goes on where this one is. It is only lent: see
  /// take_back().
  CaughtOutput hand_over() const;
  /// Tells all that is left. For a child that is dead.
  void finish();

 private:
  class Stream {
   public:
    Stream(event_base* base, const ChildOutput& owner, std::string_view name, CaughtStream caught);
    Stream(const Stream&) = delete;
    Stream& operator=(const Stream&) = delete;
    /// Reads what is there, in one turn no more than a share; false when there is nothing now.
    bool read();
    void close();
    CaughtStream hand_over() const;

   private:
    void log_line(std::string_view line, bool is_last) const;

    const ChildOutput& owner_;
    std::string_view name_;
    base::Fd fd_;
    OutputLines lines_;
    base::EventPtr event_;  // after the descriptor that it watches
  };

  std::string label_;
  bool decorated_;
  std::array<Stream, 2> streams_;
};

}  // namespace quarry::master
