// The children of one queue's execution.
//
// A child stays and takes one job after the other, or several at once. It is told what to do in a
// line, and answers with a line for each job, in their order, that has the verdict in digits:
//
//   land NAME …     the child moves the jobs itself (execute_all()); before their answers it says
//                   of each that it has come to run/: begun CSID
//   rollback NAME   takes back those that the job in run/ lists; the daemon moves it
//   stop CSID WHY   of what it has in hand; a signal is sent behind it (SIGHUP, SIGTERM)
#pragma once

#include <sys/types.h>

#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "quarry/base/fd.h"
#include "quarry/base/result.h"
#include "quarry/changes/daemons.h"

namespace quarry::changes {

inline constexpr std::string_view kBegun = "begun ";

/// What became of what a child was told to do.
struct Answer {
  ChangeSetName name;
  bool has_begun = false;  // it is in run/, and what becomes of it is said later
  bool is_rollback = false;
  std::optional<Outcome> outcome;  // nothing: it died
  std::string how;                 // it died
};

class Children {
 public:
  /// LIVE is what a child does: it gets its end of the socket, and its end is the child's.
  using Live = std::function<void(base::Fd socket)>;

  explicit Children(Live live) : live_(std::move(live)) {}
  ~Children();
  Children(const Children&) = delete;
  Children& operator=(const Children&) = delete;

  std::size_t busy() const;
  bool is_busy_with(const ChangeSetId& id) const;
  /// Makes a child if none is idle. Who has files locked does not call this: a child would keep
  /// them so.
  base::Result<void> make_idle_one();
  /// Gives NAMES to an idle child; there is one.
  base::Result<void> give(std::vector<ChangeSetName> names, bool is_rollback);
  /// Ends whoever has ID in hand, at once.
  void kill(const ChangeSetId& id) const;
  /// Asks whoever has ID in hand to stop with it, by SIGNAL.
  void stop(const ChangeSetId& id, int signal, std::string_view why) const;
  /// Where answers come.
  std::vector<int> descriptors() const;
  /// Those that have come.
  std::vector<Answer> take_answers();
  /// In a child: closes what is the daemon's.
  void close_all();

 private:
  struct Child {
    pid_t pid = -1;
    base::Fd socket;
    std::deque<ChangeSetName> names;  // of what it has in hand
    bool is_rollback = false;
    std::string received;

    bool has(const ChangeSetId& id) const;
  };
  static Answer answer_of(Child& child, std::string_view line);
  static void take_line(Child& child, std::string_view line, std::vector<Answer>& answers);
  static void take_lines(Child& child, std::vector<Answer>& answers);
  static void report_death(Child& child, std::vector<Answer>& answers);
  static std::string reap(const Child& child);

  Live live_;
  std::vector<Child> children_;
};

/// The line of OUTCOME, with its end, and the outcome of a line without it.
std::string line_of(const Outcome& outcome);
std::optional<Outcome> outcome_of_line(std::string_view line);

/// What Live is: serves DIRECTORIES until SOCKET ends, or it is asked to stop. TELLS_BEGIN: says that
/// something has come to run/, where anybody wants to know.
void serve(base::Fd socket, const QueueOptions& options, Directories& directories,
           Executor& executor, const base::Clock& clock, bool reports_begin);

}  // namespace quarry::changes
