#include <fmt/core.h>

#include <algorithm>
#include <utility>

#include "quarry/changes/actions.h"
#include "quarry/changes/explanation.h"
#include "quarry/changes/frozen.h"
#include "quarry/changes/triggers.h"
#include "quarry/http/form.h"
#include "quarry/http/web_page.h"
#include "quarry/repository/check_ins.h"
#include "queue_answer.h"
#include "view_options.h"

namespace quarry::worker {

Result<void> QueueAnswer::get(base::UnixMillis now) {
  QUARRY_TRY(login_.confirm());
  return path_.empty() ? show_queue(now) : show_one(now);
}

Result<void> QueueAnswer::show_queue(base::UnixMillis now) {
  reply_.operation = "queue";
  if (wants_json() && http::form_value(request_.query, "ask") == "project") {
    reply_.body = fmt::format("{{\"project_code\":{}}}\n", json_string(project_code_));
    return {};
  }
  if (wants_json() && http::form_value(request_.query, "ask") == "check-in") {
    return answer_check_in();
  }
  QUARRY_TRY_ASSIGN(const auto options, view_options_of(request_.query));
  QUARRY_TRY_ASSIGN(auto view, changes::view_queue(directories_, options));
  QUARRY_TRY_ASSIGN(const auto frozen, changes::frozen_branches(directories_));
  QUARRY_TRY(changes::explain(view, directories_, options_.rules, frozen, now));
  if (!wants_json()) return show(queue_page(view, context(now), request_.query));
  std::string branches;
  for (const std::string& each : frozen) {
    branches += (branches.empty() ? "" : ",") + json_string(each);
  }
  reply_.body = changes::json_of(
      view, fmt::format("\"repository\":{},\"project_code\":{},\"frozen\":[{}],",
                        json_string(request_.name), json_string(project_code_), branches));
  reply_.body += "\n";
  return {};
}

Result<void> QueueAnswer::answer_check_in() {
  const std::string name = http::form_value(request_.query, "name").value_or("");
  QUARRY_TRY_ASSIGN(const auto snapshot, repository_.snapshot());
  const auto found = repository::CheckIns(repository_).named(name);
  const bool is_missing = !found && (found.error().code == ErrorCode::kNotFound ||
                                     found.error().code == ErrorCode::kInvalid);
  if (!found && !is_missing) return std::unexpected(found.error());
  reply_.body = fmt::format("{{\"check_in\":{}}}\n", found ? json_string(found->str()) : "null");
  return {};
}

Result<void> QueueAnswer::show_one(base::UnixMillis now) {
  reply_.operation = "queue";
  QUARRY_TRY_ASSIGN(const auto place, changes::find_one(directories_, path_));
  const auto question = http::form_value(request_.query, "ask");
  if (question == "why") return answer_why(place.name.id, now);
  if (question == "diff" || question == "patch") return show_diff(place, question == "patch", now);
  if (question == "rollback") return answer_rollback(place.name.id);
  QUARRY_TRY_ASSIGN(auto view, changes::view_job(directories_, place));
  if (question == "log") return show_text(std::move(view.output));
  if (!wants_json()) return show_page(std::move(view), now);
  reply_.body = changes::json_of(view, /*whole=*/true) + "\n";
  return {};
}

Result<void> QueueAnswer::show_page(changes::JobView view, base::UnixMillis now) {
  const bool waits = !changes::is_over(view.stage) && view.stage != changes::Stage::kRun;
  if (!changes::is_over(view.stage)) QUARRY_TRY(put_expected(view, now));
  const auto why = changes::why_waits(directories_, options_.rules, view.job.name.id, now);
  if (waits && why) view.remark = *why;
  return show(change_set_page(view, context(now), form_of(view)));
}

/// Sets the place and the expected time of the waiting or running job in VIEW.
Result<void> QueueAnswer::put_expected(changes::JobView& view, base::UnixMillis now) {
  QUARRY_TRY_ASSIGN(auto queue, changes::view_queue(directories_, {.max_over = 0}));
  QUARRY_TRY_ASSIGN(const auto frozen, changes::frozen_branches(directories_));
  QUARRY_TRY(changes::explain(queue, directories_, options_.rules, frozen, now));
  const auto found = std::ranges::find_if(queue.jobs, [&](const changes::JobView& each) {
    return each.job.name.id == view.job.name.id;
  });
  if (found == queue.jobs.end()) return {};
  view.place = found->place;
  view.expected = found->expected;
  view.is_late = found->is_late;
  return {};
}

/// Returns the form with the actions on the change set that the user can do now.
ActionForm QueueAnswer::form_of(const changes::JobView& view) const {
  ActionForm form{.actions = {}, .token = login_.form_token()};
  if (form.token.empty()) return form;
  for (const changes::Action action :
       {changes::Action::kApprove, changes::Action::kHold, changes::Action::kRelease,
        changes::Action::kRetry, changes::Action::kAbandon}) {
    const bool is_needed = action != changes::Action::kApprove ||
                           !changes::model_job_of(view.job, view.stage, options_.rules).is_approved;
    if (is_needed && changes::is_possible(action, view.stage, view.job) &&
        changes::may_do(options_.rights, action, actor(), view.job)) {
      form.actions.push_back(action);
    }
  }
  return form;
}

/// Shows the diff of the change set at PLACE, as text if IS_TEXT is set, or a page that reloads itself
/// until the diff has been computed.
Result<void> QueueAnswer::show_diff(const changes::JobLocation& place, bool is_text,
                                    base::UnixMillis now) {
  const changes::ChangeSetName& name = place.name;
  if (name.type == changes::MoveType::kRollback) {
    return fail(ErrorCode::kInvalid, "a rollback does not have a diff before it has landed");
  }
  if (place.stage == changes::Stage::kFail) {
    QUARRY_TRY_ASSIGN(const changes::Job job, directories_.read(place.stage, name));
    if (!job.is_checked() && !job.history.empty()) {
      const std::string& why = job.history.back().why;
      return show(diff_page(name, "The diff cannot be computed: " + why + "\n", context(now)));
    }
  }
  const auto diff = directories_.read_file(directories_.diff_of(name), 2 * changes::kMaxDiff);
  if (!diff && diff.error().code != ErrorCode::kNotFound) return std::unexpected(diff.error());
  if (diff && is_text) return show_text(*diff);
  QUARRY_TRY(show(diff_page(name, diff ? std::optional(*diff) : std::nullopt, context(now))));
  if (diff) return {};
  QUARRY_TRY(directories_.replace_file(
      directories_.control(std::string(changes::kDiffRequest) + std::string(name.id.str())), ""));
  changes::pull(directories_.control(""), changes::Trigger::kPrequeue);
  reply_.headers += "Refresh: 1\r\n";
  return {};
}

Result<void> QueueAnswer::answer_why(const changes::ChangeSetId& id, base::UnixMillis now) {
  QUARRY_TRY_ASSIGN(const std::string why,
                    changes::why_waits(directories_, options_.rules, id, now));
  reply_.body = fmt::format("{{\"id\":{},\"why\":{}}}\n", json_string(id.str()), json_string(why));
  return {};
}

Result<void> QueueAnswer::answer_rollback(const changes::ChangeSetId& id) {
  QUARRY_TRY_ASSIGN(const auto places,
                    changes::rollback_closure(directories_, {id}, options_.rules.max_rollback));
  std::string list;
  for (const changes::JobLocation& each : places) {
    const auto job = directories_.read(each.stage, each.name);
    list += fmt::format("{}{{\"id\":{},\"state\":{},\"target\":{}}}", list.empty() ? "" : ",",
                        json_string(each.name.id.str()), json_string(word_of(each.stage)),
                        json_string(job ? job->meta.target : std::string()));
  }
  reply_.body = fmt::format("{{\"rollback\":[{}]}}\n", list);
  return {};
}

Result<void> QueueAnswer::show_text(std::string text) {
  reply_.content_type = "text/plain; charset=utf-8";
  reply_.body = std::move(text);
  return {};
}

Result<void> QueueAnswer::show(std::string page) {
  reply_.content_type = http::kPageType;
  reply_.headers = http::web_page_headers({}, http::Forms::kToOwnServer);
  reply_.body = std::move(page);
  return {};
}

}  // namespace quarry::worker
