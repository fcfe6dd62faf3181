// quarry queue …: shows and changes a queue of change sets.
#include <fmt/core.h>

#include <cstdio>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <utility>

#include "changes_commands.h"
#include "common/exit_codes.h"
#include "common/interruption.h"
#include "quarry/base/escape.h"
#include "queue_access.h"
#include "queue_text.h"

namespace quarry::app {
namespace {

using base::ErrorCode;
using base::fail;
using base::Result;
using changes::Action;

/// Calls ACTION with the queue of ARGUMENTS.
template <typename Action>
int with_queue(const QueueArguments& arguments, Action&& action) {
  const Interruption interruption;
  auto queue = open_queue(arguments);
  if (!queue) return failed(queue.error());
  return exit_code_of(action(**queue));
}

void print_json(const std::string& document) {
  fmt::print("{}{}", document, document.ends_with('\n') ? "" : "\n");
}

/// The frozen branches in a queue's JSON.
std::vector<std::string> frozen_in(const std::string& text) {
  std::vector<std::string> branches;
  const auto document = nlohmann::json::parse(text, nullptr, /*allow_exceptions=*/false);
  if (!document.is_object() || !document.contains("frozen") || !document["frozen"].is_array())
    return branches;
  for (const auto& each : document["frozen"]) {
    if (each.is_string()) branches.push_back(each.get<std::string>());
  }
  return branches;
}

Result<void> show_queue(const QueueArguments& arguments, QueueAccess& queue, bool is_list) {
  ListArguments wanted = arguments.list;
  if (!is_list) wanted.limit = 0;
  QUARRY_TRY_ASSIGN(const std::string document, queue.list(wanted));
  if (arguments.as_json) {
    print_json(document);
    return {};
  }
  QUARRY_TRY_ASSIGN(const auto view, changes::queue_view_of(document));
  fmt::print("{}", is_list ? list_text(view) : status_text(view, frozen_in(document)));
  // On standard error, so that programs can parse standard output.
  if (is_list) fmt::print(stderr, "{}", more_text(view));
  return {};
}

Result<void> show_one(const QueueArguments& arguments, QueueAccess& queue, bool is_log) {
  QUARRY_TRY_ASSIGN(const std::string document, queue.show(arguments.id));
  if (arguments.as_json) {
    print_json(document);
    return {};
  }
  QUARRY_TRY_ASSIGN(const auto view, changes::job_view_of(document));
  fmt::print("{}", is_log ? log_text(view) : change_set_text(view));
  return {};
}

int act(const QueueArguments& arguments, Action action) {
  return with_queue(arguments, [&](QueueAccess& queue) {
    return queue.act(action, arguments.id, arguments.text);
  });
}

/// The full ids of the change sets in ARGUMENTS.
Result<std::vector<changes::ChangeSetId>> whole_ids(const QueueArguments& arguments,
                                                    QueueAccess& queue) {
  std::vector<changes::ChangeSetId> ids;
  for (const std::string& each : arguments.ids) {
    QUARRY_TRY_ASSIGN(const std::string document, queue.show(each));
    QUARRY_TRY_ASSIGN(const auto view, changes::job_view_of(document));
    ids.push_back(view.job.name.id);
  }
  return ids;
}

Result<void> print_closure(const QueueArguments& arguments,
                           const std::vector<changes::ChangeSetId>& ids, QueueAccess& queue) {
  QUARRY_TRY_ASSIGN(const auto closure, queue.rollback_closure(ids));
  if (arguments.as_json) {
    nlohmann::json list = nlohmann::json::array();
    for (const changes::ChangeSetId& id : closure) list.push_back(id.str());
    fmt::print("{}\n", nlohmann::json{{"rollback", list}}.dump());
    return {};
  }
  changes::QueueView view;
  for (const changes::ChangeSetId& id : closure) {
    QUARRY_TRY_ASSIGN(const std::string document, queue.show(std::string(id.str())));
    QUARRY_TRY_ASSIGN(auto one, changes::job_view_of(document));
    view.jobs.push_back(std::move(one));
  }
  fmt::print("{}", list_text(view));
  return {};
}

Result<void> roll_back(const QueueArguments& arguments, QueueAccess& queue) {
  QUARRY_TRY_ASSIGN(const auto ids, whole_ids(arguments, queue));
  if (arguments.dry_run) return print_closure(arguments, ids, queue);
  changes::Meta meta;
  meta.type = changes::MoveType::kRollback;
  meta.dependencies = ids;
  meta.comment = arguments.text;
  QUARRY_TRY_ASSIGN(const auto id, queue.submit(meta));
  if (arguments.as_json) {
    fmt::print("{{\"id\":\"{}\"}}\n", id.str());
  } else {
    fmt::print("{}\n", id.str());
  }
  return {};
}

}  // namespace

int run_queue_status(const QueueArguments& arguments) {
  return with_queue(arguments,
                    [&](QueueAccess& queue) { return show_queue(arguments, queue, false); });
}

int run_queue_list(const QueueArguments& arguments) {
  return with_queue(arguments,
                    [&](QueueAccess& queue) { return show_queue(arguments, queue, true); });
}

int run_queue_show(const QueueArguments& arguments) {
  return with_queue(arguments,
                    [&](QueueAccess& queue) { return show_one(arguments, queue, false); });
}

int run_queue_log(const QueueArguments& arguments) {
  return with_queue(arguments,
                    [&](QueueAccess& queue) { return show_one(arguments, queue, true); });
}

int run_queue_why(const QueueArguments& arguments) {
  return with_queue(arguments, [&](QueueAccess& queue) -> Result<void> {
    QUARRY_TRY_ASSIGN(const std::string why, queue.why(arguments.id));
    if (arguments.as_json) {
      fmt::print("{}\n", nlohmann::json{{"why", why}}.dump());
    } else {
      fmt::print("{}\n", base::printable(why, 4'000));
    }
    return {};
  });
}

int run_queue_hold(const QueueArguments& arguments) {
  return act(arguments, Action::kHold);
}

int run_queue_release(const QueueArguments& arguments) {
  return act(arguments, Action::kRelease);
}

int run_queue_abandon(const QueueArguments& arguments) {
  return act(arguments, Action::kAbandon);
}

int run_queue_terminate(const QueueArguments& arguments) {
  return act(arguments, Action::kTerminate);
}

int run_queue_retry(const QueueArguments& arguments) {
  return act(arguments, Action::kRetry);
}

int run_queue_approve(const QueueArguments& arguments) {
  return act(arguments, Action::kApprove);
}

int run_queue_rollback(const QueueArguments& arguments) {
  return with_queue(arguments, [&](QueueAccess& queue) { return roll_back(arguments, queue); });
}

int run_queue_freeze(const QueueArguments& arguments) {
  return with_queue(arguments,
                    [&](QueueAccess& queue) { return queue.freeze(arguments.branch, true); });
}

int run_queue_thaw(const QueueArguments& arguments) {
  return with_queue(arguments,
                    [&](QueueAccess& queue) { return queue.freeze(arguments.branch, false); });
}

}  // namespace quarry::app
