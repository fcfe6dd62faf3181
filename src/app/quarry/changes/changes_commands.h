// The commands of `quarry` about change sets. They return an exit code.
#pragma once

#include <string>
#include <vector>

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
  bool on_tip = false;  // no base: the files are taken as they are
  std::vector<std::string> dependencies;
  std::vector<std::string> files;
  std::vector<std::string> deletions;
  bool waits = false;
  double timeout = 0;  // seconds that --wait waits; 0: for ever
};
int run_submit(const SubmitArguments& arguments);

/// Which change sets of a queue are listed.
struct ListArguments {
  std::string branch;  // of that alone
  std::string states;  // folders with commas between them
  std::string after;   // a bookmark's text
  std::size_t limit = 50;
};

struct QueueArguments {
  ServerArguments server;  // or
  std::string repository;  // here
  std::string folder;      // of its queue, where it is not beside it
  std::string id;          // or its beginning
  std::vector<std::string> ids;
  std::string branch;
  std::string text;                         // why, or an approval's reference
  std::vector<std::string> needs_approval;  // move types
  std::vector<std::string> settings;        // WORD=VALUE
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
int run_queue_hold(const QueueArguments& arguments);
int run_queue_release(const QueueArguments& arguments);
int run_queue_abandon(const QueueArguments& arguments);
int run_queue_terminate(const QueueArguments& arguments);
int run_queue_retry(const QueueArguments& arguments);
int run_queue_approve(const QueueArguments& arguments);
int run_queue_rollback(const QueueArguments& arguments);
int run_queue_freeze(const QueueArguments& arguments);
int run_queue_thaw(const QueueArguments& arguments);
int run_queue_run(const QueueArguments& arguments);

}  // namespace quarry::app
