// The `quarry` commands for change sets.
#pragma once

#include <string>
#include <vector>

#include "quarry/changes/actions.h"
#include "queue_client.h"

namespace quarry::app {

struct SubmitArguments {
  ServerArguments server;
  std::string type = "DC";
  std::string target;
  std::string comment;
  std::string author;
  std::string approval;
  std::string base;
  bool on_tip = false;  // the base is the branch's tip at the submission
  std::vector<std::string> dependencies;
  std::vector<std::string> files;
  std::vector<std::string> deletions;
  bool waits = false;
  double timeout = 0;  // timeout of --wait in seconds; 0: no timeout
};
int run_submit(const SubmitArguments& arguments);

/// The selection of change sets to list.
struct ListArguments {
  std::string branch;  // if set, list only this branch
  std::string states;  // folder names, separated by commas
  std::string after;   // the last change set of the previous list
  std::size_t limit = 50;
  bool is_list = true;  // false: only the status of the queue
};

class QueueAccess;

struct QueueArguments {
  Result<void> (*run)(const QueueArguments&, QueueAccess&) = nullptr;  // the command
  ServerArguments server;                                              // for a queue on a server
  std::string repository;  // for a local queue: the repository file
  std::string folder;      // the queue's folder, if it is not next to the repository
  std::string id;          // id of a change set, or a prefix of the id
  changes::Action action = changes::Action::kHold;
  std::vector<std::string> ids;
  std::string branch;
  std::string text;                   // a reason, or the reference to an approval
  std::vector<std::string> settings;  // DIRECTIVE=VALUE
  bool as_json = false;
  bool dry_run = false;
  bool once = false;
  bool is_log = false;     // only the history
  bool is_freeze = false;  // false: thaw
  ListArguments list;
};

// The commands of QueueArguments.
Result<void> show_queue(const QueueArguments& arguments, QueueAccess& queue);
Result<void> show_change_set(const QueueArguments& arguments, QueueAccess& queue);
Result<void> explain(const QueueArguments& arguments, QueueAccess& queue);
/// Applies ARGUMENTS.action to a change set.
Result<void> act(const QueueArguments& arguments, QueueAccess& queue);
Result<void> roll_back(const QueueArguments& arguments, QueueAccess& queue);
Result<void> freeze(const QueueArguments& arguments, QueueAccess& queue);

/// Opens the queue of ARGUMENTS and runs their command.
Result<void> run_queue(const QueueArguments& arguments);
/// Runs the daemons of the queue until all of its work is done.
Result<void> run_queue_daemons(const QueueArguments& arguments);

}  // namespace quarry::app
