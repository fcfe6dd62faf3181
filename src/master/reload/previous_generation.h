// The children of earlier generations: they finish what they have begun, and are buried here.
//
// They are asked to end when the new children are there, and pressed when they have not within
// process_control_timeout: terminated, and in the end killed.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <cstddef>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "child/child_output.h"
#include "pool/master_state.h"
#include "quarry/base/event_handles.h"
#include "quarry/control/channel.h"
#include "quarry/master/handover.h"

namespace quarry::master {

class PreviousGeneration {
 public:
  /// Of a service, when it has ended.
  struct Departed {
    std::string service;
    std::optional<std::size_t> slot;
  };

  /// What one of SERVICE says over its channel: trust nothing in it.
  using OnMessage = std::function<void(const std::string& service, const control::Message&)>;

  /// ELDERS, which the master before left. MASTER_STATE must outlive it.
  PreviousGeneration(std::vector<PreviousChild> children, const MasterState& master_state)
      : children_(std::move(children)), master_state_(master_state) {}

  /// Goes on catching what they print, and tells ON_MESSAGE what they say, with events of BASE,
  /// which must outlive it.
  void go_on_listening(event_base* base, OnMessage on_message);
  /// Asks those that were not asked to end, and those that end last when the others have.
  void ask();
  /// Presses those that take too long. To be called every second.
  void escalate();
  /// Nothing where PID, which has ended with STATUS, is none of them.
  std::optional<Departed> reap(pid_t pid, int status);
  void signal(int number) const;

  bool is_empty() const { return children_.empty(); }
  std::size_t count() const { return children_.size(); }
  std::size_t count_of(const std::string& service) const;
  const std::vector<PreviousChild>& all() const { return children_; }
  /// Those of SERVICE that stand on its board.
  void for_each_on_board(const std::string& service,
                         const std::function<void(PreviousChild&)>& visit);
  /// Those of SERVICE stand on another board than the one that it has now.
  void leave_board(const std::string& service);
  /// Lends HANDOVER all of them: see take_back().
  void hand_over(Handover& handover) const;

 private:
  struct Line {
    std::string service;
    control::Channel channel;
    base::Event on_control;  // after what it watches, so that it goes first
  };

  void read_control(Line& line, pid_t pid);
  void ask_those_who_may_end();

  std::vector<PreviousChild> children_;
  bool is_asking_ = false;
  const MasterState& master_state_;
  std::map<pid_t, std::unique_ptr<ChildOutput>> outputs_;
  std::map<pid_t, Line> lines_;
  OnMessage on_message_;
};

}  // namespace quarry::master
