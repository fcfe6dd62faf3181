// quarry queue …: shows and changes a queue of change sets.
#include <fmt/core.h>

#include <cstdio>
#include <nlohmann/json.hpp>
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

/// Opens the queue of ARGUMENTS and calls ACTION with it.
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

Result<void> show_queue(const QueueArguments& arguments, QueueAccess& queue, bool is_list) {
  ListArguments wanted = arguments.list;
  if (!is_list) wanted.limit = 0;
  QUARRY_TRY_ASSIGN(const std::string text, queue.list(wanted));
  if (arguments.as_json) {
    print_json(text);
    return {};
  }
  QUARRY_TRY_ASSIGN(const auto document, document_in(text));
  if (!document.contains("counts") || !document.contains("jobs")) {
    return fail(ErrorCode::kInvalid,
                "invalid reply from the server: not the description of a queue");
  }
  fmt::print("{}", is_list ? list_text(document["jobs"]) : status_text(document));
  // Programs parse standard output, so the hint goes to standard error.
  if (is_list) fmt::print(stderr, "{}", more_text(document));
  return {};
}

/// Returns the change set ID as JSON.
Result<nlohmann::json> change_set(QueueAccess& queue, const std::string& id) {
  QUARRY_TRY_ASSIGN(const std::string text, queue.show(id));
  QUARRY_TRY_ASSIGN(auto document, document_in(text));
  if (changes::ChangeSetId::parse(text_in(document, "id"))) return document;
  return fail(ErrorCode::kInvalid,
              "invalid reply from the server: not the description of a change set");
}

Result<void> show_one(const QueueArguments& arguments, QueueAccess& queue, bool is_log) {
  if (arguments.as_json) {
    QUARRY_TRY_ASSIGN(const std::string text, queue.show(arguments.id));
    print_json(text);
    return {};
  }
  QUARRY_TRY_ASSIGN(const auto document, change_set(queue, arguments.id));
  fmt::print("{}", is_log ? log_text(document) : change_set_text(document));
  return {};
}

/// Returns the full ids of the change sets in ARGUMENTS.
Result<std::vector<changes::ChangeSetId>> whole_ids(const QueueArguments& arguments,
                                                    QueueAccess& queue) {
  std::vector<changes::ChangeSetId> ids;
  for (const std::string& each : arguments.ids) {
    QUARRY_TRY_ASSIGN(const auto document, change_set(queue, each));
    ids.push_back(*changes::ChangeSetId::parse(text_in(document, "id")));
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
  nlohmann::json list = nlohmann::json::array();
  for (const changes::ChangeSetId& id : closure) {
    QUARRY_TRY_ASSIGN(auto document, change_set(queue, std::string(id.str())));
    list.push_back(std::move(document));
  }
  fmt::print("{}", list_text(list));
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

int run_queue_action(const QueueArguments& arguments) {
  return with_queue(arguments, [&](QueueAccess& queue) {
    return queue.act(arguments.action, arguments.id, arguments.text);
  });
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
