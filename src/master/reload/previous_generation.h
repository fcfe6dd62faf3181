// The children of earlier generations, which finish their work after a reload.
//
// Previous children are asked to exit after the new children have started. After
// process_control_timeout, the remaining children are terminated and, if necessary, killed.
// Children with ends_by_itself do not have a time limit.
#pragma once

#include <sys/types.h>

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
#include "quarry/master/service.h"

namespace quarry::master {

class PreviousGeneration {
 public:
  /// A child that has exited.
  struct Departed {
    std::string service;
    std::optional<std::size_t> slot;
  };

  /// Handles a message from a child of SERVICE. Messages are not trusted.
  using OnMessage = std::function<void(const std::string& service, const control::Message&)>;

  /// Creates the generation from CHILDREN, which the previous master has passed on. MASTER_STATE
  /// must outlive this object.
  PreviousGeneration(std::vector<PreviousChild> children, const MasterState& master_state)
      : children_(std::move(children)), master_state_(master_state) {}

  /// Removes the children of SERVICE in the latest generation that were not asked to exit, and
  /// returns them. Called before go_on_listening().
  std::vector<PreviousChild> take_latest(const std::string& service);
  /// Continues to capture the children's output, and passes their messages to ON_MESSAGE. BASE must
  /// outlive this object.
  void go_on_listening(event_base* base, OnMessage on_message);
  /// Asks all children to end, unless they were asked before. Children with ends_last are asked
  /// after all other children have exited.
  void ask();
  /// Terminates or kills children that take too long. Called every second.
  void escalate();
  /// Handles the exit of PID with STATUS. Returns nullopt if PID is not one of these children.
  std::optional<Departed> reap(pid_t pid, int status);
  void signal(int number) const;
  /// Sends the reopened logs of SERVICE to the service's previous children.
  void send_logs(const Service& service) const;

  std::size_t count() const { return children_.size(); }
  std::size_t count_of(const std::string& service) const;
  const std::vector<PreviousChild>& all() const { return children_; }
  void for_each_on_board(const std::string& service,
                         const std::function<void(PreviousChild&)>& visit);
  /// Called when SERVICE has a new board, on which its previous children do not have slots.
  void leave_board(const std::string& service);
  /// Adds all children to HANDOVER. HANDOVER does not own the descriptors: see take_back().
  void hand_over(Handover& handover) const;

 private:
  struct Line {
    std::string service;
    control::Channel channel;
    base::Event on_control;  // declared after `channel`, so it is destroyed first
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
