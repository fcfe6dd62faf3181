// After content was received, hands over the hooks that `fossil hook add` has stored in the
// repository:
//
//   config   hooks             [{"type": "after-receive", "cmd": …, "seq": …}, …]
//            hook-last-rcvid   the last receipt for which hooks have run
//            hook-embargo      end of the delay during a push, in seconds since 1970
#include <fmt/core.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "event_batch.h"
#include "publisher_claim.h"
#include "quarry/backoffice/jobs.h"
#include "quarry/event/event.h"
#include "quarry/repository/arrivals.h"
#include "quarry/repository/receipt.h"
#include "quarry/repository/received_list.h"

namespace quarry::backoffice {
namespace {

constexpr const char* kHooks = "hooks";
constexpr const char* kLast = "hook-last-rcvid";
constexpr const char* kEmbargo = "hook-embargo";
constexpr std::size_t kMaxHooks = 100;

/// Returns the commands of the after-receive hooks in TEXT, in order.
std::vector<std::string> commands_in(const std::string& text) {
  std::vector<std::pair<double, std::string>> found;
  const auto hooks = nlohmann::json::parse(text, nullptr, false);
  if (!hooks.is_array()) return {};
  for (const auto& hook : hooks) {
    if (!hook.is_object() || hook.value("type", nlohmann::json()) != "after-receive") continue;
    const auto command = hook.find("cmd");
    if (command == hook.end() || !command->is_string() || found.size() >= kMaxHooks) continue;
    const auto sequence = hook.find("seq");
    const bool has_sequence = sequence != hook.end() && sequence->is_number();
    found.emplace_back(has_sequence ? sequence->get<double>() : 0, command->get<std::string>());
  }
  std::ranges::stable_sort(found, {}, [](const auto& one) { return one.first; });
  std::vector<std::string> commands;
  for (auto& [sequence, command] : found) commands.push_back(std::move(command));
  return commands;
}

struct DueHooks {
  std::vector<std::string> commands;  // can be empty
  std::int64_t last = 0;              // last receipt that INPUT includes
  bool has_own = false;               // not all receipts came from other hosts
  std::string input;
};

/// Returns the hooks that are due. Requires a Snapshot.
Result<DueHooks> due_hooks(repository::Repository& repository) {
  DueHooks due;
  auto settings = repository.settings();
  const auto text = settings.get(kHooks);
  if (!text) return due;
  const std::int64_t now = repository.options().clock->now().value / 1000;
  if (now < settings.get_int(kEmbargo, 0)) return due;
  repository::ReceivedList list(repository);
  const std::int64_t notified = settings.get_int(kLast, 0);
  QUARRY_TRY_ASSIGN(due.last, list.last_receipt());
  if (notified >= due.last) return due;
  due.commands = commands_in(*text);
  if (due.commands.empty()) return due;
  QUARRY_TRY_ASSIGN(due.has_own, list.has_own(notified, due.last));
  QUARRY_TRY_ASSIGN(const std::int64_t after, list.first_to_report(notified));
  QUARRY_TRY_ASSIGN(due.input, list.lines(after, due.last, event::kMaxInput - 4));
  return due;
}

Result<bool> has_hooks(repository::Repository& repository) {
  QUARRY_TRY_ASSIGN(const auto snapshot, repository.snapshot());
  return repository.settings().get(kHooks).has_value();
}

/// Returns whether hooks are due. Requires the index of Arrivals.
Result<bool> are_hooks_due(repository::Repository& repository) {
  QUARRY_TRY_ASSIGN(const auto snapshot, repository.snapshot());
  QUARRY_TRY_ASSIGN(const DueHooks due, due_hooks(repository));
  return !due.commands.empty();
}

Result<std::size_t> request_hooks(repository::Repository& repository,
                                  const PublishOptions& options) {
  DueHooks due;
  EventBatch events;
  {
    QUARRY_TRY_ASSIGN(const auto snapshot, repository.snapshot());
    QUARRY_TRY_ASSIGN(due, due_hooks(repository));
    if (due.commands.empty()) return std::size_t{0};
    events = EventBatch(repository, options);
  }
  for (std::size_t i = 0; i < due.commands.size(); ++i) {
    if (!due.has_own) break;
    events.add(
        fmt::format("hook/{}/{}", due.last, i),
        event::Hook{.command = due.commands[i], .repository = options.path, .input = due.input});
  }
  // Store the position only after the courier has stored the events. If fossil's backoffice has run
  // the hooks in the meantime, they run twice, which is better than not at all.
  QUARRY_TRY(events.hand_over(*options.courier));
  QUARRY_TRY_ASSIGN(auto receipt, repository.receive_unsynced());
  if (repository.settings().get_int(kLast, 0) < due.last) {
    QUARRY_TRY(receipt.set_config(kLast, std::to_string(due.last)));
    QUARRY_TRY(receipt.commit());
  }
  return events.size();
}

Result<std::size_t> run_hooks(JobContext& context, const PublishOptions& options) {
  repository::Repository& repository = context.repository;
  QUARRY_TRY_ASSIGN(const bool has_any, has_hooks(repository));
  if (!has_any) return std::size_t{0};
  QUARRY_TRY(repository::Arrivals(repository).prepare());
  QUARRY_TRY_ASSIGN(const bool is_due, are_hooks_due(repository));
  if (!is_due) return std::size_t{0};
  return publish_alone(context, [&] { return request_hooks(repository, options); });
}

}  // namespace

Job after_receive_hooks(const PublishOptions& options) {
  return {"after-receive hooks", std::chrono::seconds(60),
          [options](JobContext& context) { return run_hooks(context, options); }};
}

}  // namespace quarry::backoffice
