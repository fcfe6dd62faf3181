// quarry queue …: shows and changes a queue of change sets.
#include <fmt/core.h>

#include <cstdio>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>

#include "changes_commands.h"
#include "common/interruption.h"
#include "quarry/base/escape.h"
#include "queue_access.h"
#include "queue_text.h"

namespace quarry::app {
namespace {

void print_json(const std::string& document) {
  fmt::print("{}{}", document, document.ends_with('\n') ? "" : "\n");
}

/// Returns the change set ID as JSON.
Result<nlohmann::json> change_set(QueueAccess& queue, const std::string& id) {
  QUARRY_TRY_ASSIGN(const std::string text, queue.show(id));
  QUARRY_TRY_ASSIGN(auto document, document_in(text));
  if (changes::ChangeSetId::parse(text_in(document, "id"))) return document;
  return fail(ErrorCode::kInvalid,
              "invalid reply from the server: not the description of a change set");
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

/// Prints CLOSURE, the change sets that a rollback rolls back, to FILE.
Result<void> print_closure(const QueueArguments& arguments,
                           const std::vector<changes::ChangeSetId>& closure, QueueAccess& queue,
                           std::FILE* file) {
  nlohmann::json list = nlohmann::json::array();
  for (const changes::ChangeSetId& id : closure) {
    if (arguments.as_json) {
      list.push_back(id.str());
      continue;
    }
    QUARRY_TRY_ASSIGN(auto document, change_set(queue, std::string(id.str())));
    list.push_back(std::move(document));
  }
  fmt::print(
      file, "{}",
      arguments.as_json ? nlohmann::json{{"rollback", list}}.dump() + "\n" : list_text(list));
  return {};
}

}  // namespace

Result<void> run_queue(const QueueArguments& arguments) {
  const Interruption interruption;
  QUARRY_TRY_ASSIGN(const auto queue, open_queue(arguments));
  return arguments.run(arguments, *queue);
}

Result<void> show_queue(const QueueArguments& arguments, QueueAccess& queue) {
  QUARRY_TRY_ASSIGN(const std::string text, queue.list(arguments.list));
  if (arguments.as_json) {
    print_json(text);
    return {};
  }
  QUARRY_TRY_ASSIGN(const auto document, document_in(text));
  if (!document.contains("counts") || !document.contains("jobs")) {
    return fail(ErrorCode::kInvalid,
                "invalid reply from the server: not the description of a queue");
  }
  fmt::print("{}", arguments.list.is_list ? list_text(document["jobs"]) : status_text(document));
  // Programs parse standard output, so the hint goes to standard error.
  if (arguments.list.is_list) fmt::print(stderr, "{}", more_text(document));
  return {};
}

Result<void> show_change_set(const QueueArguments& arguments, QueueAccess& queue) {
  if (arguments.as_json) {
    QUARRY_TRY_ASSIGN(const std::string text, queue.show(arguments.id));
    print_json(text);
    return {};
  }
  QUARRY_TRY_ASSIGN(const auto document, change_set(queue, arguments.id));
  fmt::print("{}", arguments.is_log ? log_text(document) : change_set_text(document));
  return {};
}

Result<void> explain(const QueueArguments& arguments, QueueAccess& queue) {
  QUARRY_TRY_ASSIGN(const std::string why, queue.why(arguments.id));
  if (arguments.as_json) {
    fmt::print("{}\n", nlohmann::json{{"why", why}}.dump());
  } else {
    fmt::print("{}\n", base::printable_message(why, 4'000));
  }
  return {};
}

Result<void> act(const QueueArguments& arguments, QueueAccess& queue) {
  return queue.act(arguments.action, arguments.id, arguments.text);
}

Result<void> roll_back(const QueueArguments& arguments, QueueAccess& queue) {
  QUARRY_TRY_ASSIGN(const auto ids, whole_ids(arguments, queue));
  QUARRY_TRY_ASSIGN(const auto closure, queue.rollback_closure(ids));
  if (arguments.dry_run) return print_closure(arguments, closure, queue, stdout);
  // Programs parse standard output, so the list goes to standard error.
  if (!arguments.as_json) QUARRY_TRY(print_closure(arguments, closure, queue, stderr));
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

Result<void> freeze(const QueueArguments& arguments, QueueAccess& queue) {
  return queue.freeze(arguments.branch, arguments.is_freeze);
}

}  // namespace quarry::app
