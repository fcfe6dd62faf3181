// The children of earlier generations, which finish their work after a reload.
//
// They are asked to end after the new children have started. Those that do not end within
// process_control_timeout are terminated and, if necessary, killed.
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
  /// A child that has ended.
  struct Departed {
    std::string service;
    std::optional<std::size_t> slot;
  };

  /// Handles a message from a child of SERVICE. Messages are not trusted.
  using OnMessage = std::function<void(const std::string& service, const control::Message&)>;

  /// CHILDREN are passed on by the previous master. MASTER_STATE must outlive this object.
  PreviousGeneration(std::vector<PreviousChild> children, const MasterState& master_state)
      : children_(std::move(children)), master_state_(master_state) {}

  /// Continues to capture the children's output, and passes their messages to ON_MESSAGE. BASE must
  /// outlive this object.
  void go_on_listening(event_base* base, OnMessage on_message);
  /// Asks all children that were not asked yet to end. Children with ends_last are asked when the
  /// others have ended.
  void ask();
  /// Terminates or kills children that take too long. Call this every second.
  void escalate();
  /// Handles the end of PID with STATUS. Returns nullopt if PID is not one of these children.
  std::optional<Departed> reap(pid_t pid, int status);
  void signal(int number) const;

  std::size_t count() const { return children_.size(); }
  std::size_t count_of(const std::string& service) const;
  const std::vector<PreviousChild>& all() const { return children_; }
  /// Calls VISIT with each child of SERVICE that has a slot on its board.
  void for_each_on_board(const std::string& service,
                         const std::function<void(PreviousChild&)>& visit);
  /// Call this when SERVICE has a new board, on which its previous children have no slots.
  void leave_board(const std::string& service);
  /// Adds all children to HANDOVER. Their descriptors are borrowed: see take_back().
  void hand_over(Handover& handover) const;

 private:
  struct Line {
    std::string service;
    control::Channel channel;
    base::Event on_control;  // declared after the channel that it watches, so that it is destroyed
                             // first
  };

  void read_control(Line& line, pid_t pid);
  void ask_next_to_end();

  std::vector<PreviousChild> children_;
  bool is_asking_ = false;
  const MasterState& master_state_;
  std::map<pid_t, std::unique_ptr<ChildOutput>> outputs_;
  std::map<pid_t, Line> lines_;
  OnMessage on_message_;
};

}  // namespace quarry::master
