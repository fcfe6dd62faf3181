#include <fmt/core.h>

#include <algorithm>
#include <utility>

#include "quarry/base/log.h"
#include "quarry/changes/actions.h"
#include "quarry/changes/frozen.h"
#include "quarry/changes/triggers.h"
#include "quarry/http/form.h"
#include "quarry/repository/check_ins.h"
#include "quarry/repository/received_list.h"
#include "queue_answer.h"

namespace quarry::worker {
namespace {

constexpr std::size_t kMaxText = 500;
constexpr std::size_t kMaxForm = 8'192;

/// Returns whether a page of this server has made REQUEST, according to the browser's headers. Also
/// returns true without these headers, because old browsers do not send them.
bool is_from_own_page(const QueueRequest& request) {
  if (!request.fetch_site.empty()) return request.fetch_site == "same-origin";
  const std::size_t host = request.origin.find("://");
  return request.origin.empty() ||
         (host != request.origin.npos && request.origin.substr(host + 3) == request.host);
}

}  // namespace

Result<void> QueueAnswer::post(base::UnixMillis now) {
  if (!user_.is_logged_in) return refuse_anonymous();
  const std::string_view type = media_type_of(request_.content_type);
  if (path_.empty() && http::same_name(type, changes::kTarballType)) return take(now);
  if (!path_.empty() && http::same_name(type, changes::kActionType)) return act(now);
  if (!path_.empty() && is_form()) return act_by_form(now);
  return refuse(415, fmt::format("to submit a change set, post it to the queue as {}; to change "
                                 "one, post an action to its URL as {}",
                                 changes::kTarballType, changes::kActionType));
}

Result<std::string> QueueAnswer::query_value(std::string_view name) const {
  if (auto value = http::form_value(request_.query, name)) return std::move(*value);
  return fail(ErrorCode::kInvalid, "the parameter {} has an invalid encoding", name);
}

Result<void> QueueAnswer::take(base::UnixMillis now) {
  reply_.operation = "submit";
  const auto word = http::form_value(request_.query, "type");
  const auto type = word && word->empty() ? changes::MoveType::kDevelopment
                                          : changes::move_type_named(word.value_or("?"));
  if (!type) return fail(ErrorCode::kInvalid, "type must be DC, BF, EM or RB");
  // If the query contains the author or the approval, check it now, so that the user is refused
  // immediately. The prequeue daemon checks the meta file later.
  changes::Meta meta;
  meta.type = *type;
  QUARRY_TRY_ASSIGN(meta.author, query_value("author"));
  QUARRY_TRY_ASSIGN(meta.approval, query_value("approval"));
  if (const auto refused = changes::objection(options_.rights, meta, actor())) {
    return refuse(403, *refused);
  }
  if (!request_.size) return refuse(411, "Content-Length is missing or invalid");
  if (*request_.size > options_.max_size) {
    return refuse(413, fmt::format("the change set is larger than {} bytes (changes.max_size)",
                                   options_.max_size));
  }
  say("reading the body");
  QUARRY_TRY_ASSIGN(const std::int64_t receipt, last_receipt());
  const changes::Submission submission{.submitter = user_.login,
                                       .capabilities = user_.letters,
                                       .address = std::string(request_.remote_address),
                                       .time = now,
                                       .receipt = receipt,
                                       .is_local = !request_.trusted_user.empty()};
  QUARRY_TRY_ASSIGN(const auto name,
                    changes::submit(directories_, *type, submission,
                                    [&](base::File& file) { return receive(file, now); }));
  reply_.status = 202;
  reply_.body = fmt::format("{{\"id\":{},\"name\":{}}}\n", json_string(name.id.str()),
                            json_string(name.text()));
  return {};
}

Result<std::int64_t> QueueAnswer::last_receipt() {
  QUARRY_TRY_ASSIGN(const auto snapshot, repository_.snapshot());
  return repository::ReceivedList(repository_).last_receipt();
}

/// Writes the body to FILE and checks its signature.
Result<void> QueueAnswer::receive(base::File& file, base::UnixMillis now) {
  QUARRY_TRY(request_.read_body(
      [&](std::string_view bytes) {
        login_.add_body(bytes);
        return file.append(bytes);
      },
      static_cast<std::size_t>(*request_.size)));
  QUARRY_TRY(login_.confirm());
  return check_first(now);
}

Result<void> QueueAnswer::freeze(bool is_frozen, base::UnixMillis now) {
  reply_.operation = is_frozen ? "freeze" : "thaw";
  const auto branch = http::form_value(request_.query, "branch");
  if (!branch || !changes::is_branch_name(*branch)) {
    return fail(ErrorCode::kInvalid, "branch: not a valid branch name");
  }
  if (!changes::may(options_.rights, changes::Right::kFreeze, actor())) {
    return fail(
        ErrorCode::kDenied,
        changes::not_permitted("freezing a branch", changes::Right::kFreeze, options_.rights));
  }
  QUARRY_TRY(login_.confirm());
  if (is_frozen) {
    QUARRY_TRY_ASSIGN(const auto snapshot, repository_.snapshot());
    QUARRY_TRY(repository::CheckIns(repository_).require_branch(*branch));
  }
  QUARRY_TRY(changes::make_folders(directories_));
  QUARRY_TRY(check_first(now));
  QUARRY_TRY(changes::set_frozen(directories_, *branch, is_frozen));
  changes::pull(directories_.control(""), changes::Trigger::kQueue);
  base::log(base::LogLevel::kNotice, "{}: branch {}: {} by {}", repository_.path().string(),
            base::printable(*branch), is_frozen ? "frozen" : "thawed",
            base::printable(user_.login));
  reply_.body = fmt::format("{{\"branch\":{},\"done\":{}}}\n", json_string(*branch),
                            json_string(reply_.operation));
  return {};
}

Result<void> QueueAnswer::act(base::UnixMillis now) {
  if (request_.size.value_or(0) != 0) {
    return fail(ErrorCode::kInvalid, "the body of an action must be empty");
  }
  if (path_ == "freeze" || path_ == "thaw") return freeze(path_ == "freeze", now);
  QUARRY_TRY_ASSIGN(const changes::Job job, do_action(request_.query, now));
  reply_.body = fmt::format("{{\"id\":{},\"done\":{}}}\n", json_string(job.name.id.str()),
                            json_string(reply_.operation));
  return {};
}

/// Performs the action of a form, and redirects to the page of the change set.
Result<void> QueueAnswer::act_by_form(base::UnixMillis now) {
  std::string form;
  if (request_.size.value_or(kMaxForm + 1) > kMaxForm) {
    return refuse(413, fmt::format("the form is larger than {} bytes", kMaxForm));
  }
  QUARRY_TRY(request_.read_body(
      [&](std::string_view bytes) {
        form += bytes;
        return Result<void>();
      },
      static_cast<std::size_t>(*request_.size)));
  if (!is_from_own_page(request_) ||
      !login_.is_form_token(http::form_value(form, "csrf").value_or(""))) {
    return refuse(403,
                  "the form does not belong to your login session: open the page of the change set "
                  "again, and repeat the action there");
  }
  QUARRY_TRY_ASSIGN(const changes::Job job, do_action(form, now));
  redirect(303, fmt::format("{}queue/{}", project_base(), job.name.id.str()));
  return {};
}

/// Performs the action that the path names. FIELDS are the parameters. Returns the changed job.
Result<changes::Job> QueueAnswer::do_action(std::string_view fields, base::UnixMillis now) {
  const std::size_t slash = std::min(path_.find('/'), path_.size());
  const std::string_view digits = path_.substr(0, slash);
  const auto action = changes::action_named(path_.substr(std::min(slash + 1, path_.size())));
  if (!action) return fail(ErrorCode::kNotFound, "unknown action");
  reply_.operation = changes::word_of(*action);
  auto text = http::form_value(fields, "text");
  if (!text || text->size() > kMaxText) {
    return fail(ErrorCode::kInvalid, "text: invalid encoding, or more than {} bytes", kMaxText);
  }
  QUARRY_TRY(login_.confirm());
  QUARRY_TRY_ASSIGN(const auto place, changes::find_one(directories_, digits));
  QUARRY_TRY(check_first(now));
  QUARRY_TRY_ASSIGN(
      const auto job,
      changes::act(directories_, place.name.id, {*action, user_.login, std::move(*text)}, now,
                   [this, action](const changes::Job& job) {
                     return changes::may_do(options_.rights, *action, actor(), job);
                   }));
  changes::pull(directories_.control(""), changes::Trigger::kQueue);
  base::log(base::LogLevel::kNotice, "change set {}: {}", job.name.id.str(),
            base::printable(job.history.back().why));
  return job;
}

}  // namespace quarry::worker
