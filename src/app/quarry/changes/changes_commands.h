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
  bool on_tip = false;  // without a base: the files replace those of the tip
  std::vector<std::string> dependencies;
  std::vector<std::string> files;
  std::vector<std::string> deletions;
  bool waits = false;
  double timeout = 0;  // timeout of --wait in seconds; 0: no timeout
};
int run_submit(const SubmitArguments& arguments);

/// The selection of change sets to list.
struct ListArguments {
  std::string branch;  // only this branch
  std::string states;  // folder names, separated by commas
  std::string after;   // position where the previous list ended
  std::size_t limit = 50;
};

struct QueueArguments {
  ServerArguments server;  // a queue on a server, or
  std::string repository;  // a local one
  std::string folder;      // the queue's folder, if it is not beside the repository
  std::string id;          // id of a change set, or a prefix of it
  changes::Action action = changes::Action::kHold;
  std::vector<std::string> ids;
  std::string branch;
  std::string text;                         // a reason, or an approval's reference
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
/// Applies ARGUMENTS.action.
int run_queue_action(const QueueArguments& arguments);
int run_queue_rollback(const QueueArguments& arguments);
int run_queue_freeze(const QueueArguments& arguments);
int run_queue_thaw(const QueueArguments& arguments);
int run_queue_run(const QueueArguments& arguments);

}  // namespace quarry::app
