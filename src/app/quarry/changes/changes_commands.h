// The `quarry` commands for change sets. Each returns an exit code.
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
  bool on_tip = false;  // no base: the files replace files of the tip
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
};

struct QueueArguments {
  ServerArguments server;  // for a queue on a server
  std::string repository;  // for a local queue: the repository file
  std::string folder;      // the queue's folder, if it is not next to the repository
  std::string id;          // id of a change set, or a prefix of the id
  changes::Action action = changes::Action::kHold;
  std::vector<std::string> ids;
  std::string branch;
  std::string text;                         // a reason, or the reference of an approval
  std::vector<std::string> needs_approval;  // move types
  std::vector<std::string> settings;        // DIRECTIVE=VALUE
  bool as_json = false;
  bool dry_run = false;
  bool once = false;
  ListArguments list;
};
int run_queue_status(const QueueArguments& arguments);
int run_queue_list(const QueueArguments& arguments);
int run_queue_show(const QueueArguments& arguments);
int run_queue_log(const QueueArguments& arguments);
int run_queue_why(const QueueArguments& arguments);
/// Applies ARGUMENTS.action to a change set.
int run_queue_action(const QueueArguments& arguments);
int run_queue_rollback(const QueueArguments& arguments);
int run_queue_freeze(const QueueArguments& arguments);
int run_queue_thaw(const QueueArguments& arguments);
int run_queue_run(const QueueArguments& arguments);

}  // namespace quarry::app
