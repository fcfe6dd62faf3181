#include "quarry/worker/queue_endpoint.h"

#include <fmt/core.h>

#include <algorithm>
#include <utility>

#include "quarry/base/blanks.h"
#include "quarry/base/escape.h"
#include "quarry/base/log.h"
#include "quarry/changes/actions.h"
#include "quarry/changes/directories.h"
#include "quarry/changes/explanation.h"
#include "quarry/changes/frozen.h"
#include "quarry/changes/queue_view.h"
#include "quarry/changes/seen_requests.h"
#include "quarry/changes/triggers.h"
#include "quarry/http/form.h"
#include "quarry/http/status.h"
#include "quarry/http/syntax.h"
#include "quarry/http/web_page.h"
#include "quarry/repository/check_ins.h"
#include "quarry/repository/received_list.h"
#include "quarry/sync/signed_request.h"
#include "queue_page.h"
#include "view_options.h"

namespace quarry::worker {
namespace {

using base::ErrorCode;
using base::fail;
using base::Result;
using changes::Directories;

constexpr std::string_view kQueue = "queue";
constexpr std::string_view kJson = ".json";
constexpr std::string_view kFormType = "application/x-www-form-urlencoded";
constexpr std::size_t kMaxText = 500;
constexpr std::size_t kMaxForm = 8'192;

/// Returns the text for the client. Details of server faults, and file paths, appear only in the
/// log.
std::string client_message(const base::Error& error) {
  switch (http::status_of(error.code)) {
    case 500:
      return "the queue is not available: see the server's log";
    case 507:
      return "the server's disk is full";
    default:
      return error.message;
  }
}

/// Returns CONTENT_TYPE without its parameters.
std::string_view media_type_of(std::string_view content_type) {
  return base::trim_blanks(content_type.substr(0, content_type.find(';')));
}

/// Returns whether a page of this server has made REQUEST, according to the browser's headers. Also
/// returns true without these headers, because old browsers do not send them.
bool is_from_own_page(const QueueRequest& request) {
  if (!request.fetch_site.empty()) return request.fetch_site == "same-origin";
  const std::size_t host = request.origin.find("://");
  return request.origin.empty() ||
         (host != request.origin.npos && request.origin.substr(host + 3) == request.host);
}

std::string json_string(std::string_view text) {
  std::string json;
  base::append_json_string(json, text);
  return json;
}

/// Answers one request.
class Answer {
 public:
  Answer(const changes::PoolOptions& options, base::FileSystem& files, const base::Clock& clock,
         repository::Repository& repository, const QueueRequest& request)
      : options_(options),
        clock_(clock),
        repository_(repository),
        request_(request),
        path_(request.path),
        login_(repository, request.logins),
        directories_(files, changes::queue_base(options, repository.path(), request.name)) {}

  QueueReply run() {
    if (path_.ends_with(kJson)) path_.remove_suffix(kJson.size());
    const auto now = clock_.now();
    auto done = begin(now);
    reply_.user = user_.login;
    if (done) done = check_readable();
    if (done) done = is_post() ? post(now) : get(now);
    if (!done && reply_.status == 200) refuse(http::status_of(done.error().code), done.error());
    reply_.failed_login = login_.failed_login();
    // Forbid caching, except for pages, which set their own Cache-Control.
    if (!reply_.headers.contains("Cache-Control:")) reply_.headers += "Cache-Control: no-store\r\n";
    return std::move(reply_);
  }

 private:
  bool is_post() const { return request_.method == "POST"; }
  bool is_form() const {
    return is_post() && http::same_name(media_type_of(request_.content_type), kFormType);
  }
  bool wants_json() const {
    return (is_post() && !is_form()) || request_.path.ends_with(kJson) ||
           request_.accept.find("application/json") != std::string_view::npos;
  }

  std::unexpected<base::Error> refuse(int status, base::Error error) {
    reply_.status = status;
    reply_.error = error.message;
    reply_.is_fault = status >= 500 && status != 503;
    const std::string message = client_message(error);
    if (wants_json()) {
      // Send the project code with a 401, because the client needs it to sign the request. The code
      // is not secret: every clone contains it.
      const std::string code =
          status == 401 ? fmt::format(",\"project_code\":{}", json_string(project_code_)) : "";
      reply_.body = fmt::format("{{\"error\":{}{}}}\n", json_string(message), code);
      reply_.content_type = "application/json; charset=utf-8";
    } else {
      reply_.body = message + "\n";
      reply_.content_type = "text/plain; charset=utf-8";
    }
    return std::unexpected(std::move(error));
  }
  std::unexpected<base::Error> refuse(int status, std::string text) {
    return refuse(status, base::Error{ErrorCode::kDenied, std::move(text)});
  }
  std::unexpected<base::Error> refuse_anonymous() {
    if (!wants_json() && request_.has_pages && http::prefers_html(request_.accept)) {
      const std::string_view after = is_post() ? kQueue : path_and_query();
      redirect(302, project_base() + "login?g=" + http::percent_encode(after));
      return fail(ErrorCode::kDenied, "not logged in");
    }
    reply_.headers += "WWW-Authenticate: Fossil-Login-Card\r\n";
    return refuse(401, "log in: quarry-changes(7) describes how to sign requests");
  }

  /// Redirects the browser to LOCATION, which is relative to the URL of the request.
  void redirect(int status, const std::string& location) {
    reply_.status = status;
    reply_.headers += "Location: " + location + "\r\n";
    reply_.content_type = "text/plain; charset=utf-8";
  }

  Result<void> begin(base::UnixMillis now) {
    {
      QUARRY_TRY_ASSIGN(const auto snapshot, repository_.snapshot());
      project_code_ = repository_.settings().project_code();
    }
    if (!request_.trusted_user.empty()) {
      user_ = {.login = std::string(request_.trusted_user), .letters = "s", .is_logged_in = true};
      return {};
    }
    QUARRY_TRY(login_.begin({.method = request_.method,
                             .target = request_.target,
                             .date = request_.date,
                             .cookie = request_.cookie,
                             .remote_user = request_.remote_user,
                             .takes_web_login = !is_post() || is_form()},
                            now));
    user_ = login_.user();
    return {};
  }

  /// Refuses replayed requests.
  Result<void> check_first(base::UnixMillis now) {
    if (login_.signature().empty()) return {};
    QUARRY_TRY_ASSIGN(const bool is_first,
                      changes::is_first_request(directories_, sync::kMaxSkew, login_.signature(),
                                                login_.date(), now));
    if (is_first) return {};
    return refuse(409, "this request was already accepted: each request needs a new signature");
  }

  changes::Actor actor() const { return {user_.login, user_.letters}; }

  // --- reading ---------------------------------------------------------------------------------

  /// Refuses users without the right to read the repository.
  Result<void> check_readable() {
    if (user_.letters.find_first_of("oias") != std::string::npos) return {};
    if (!user_.is_logged_in) return refuse_anonymous();
    return refuse(403, "not authorized to read");
  }

  Result<void> get(base::UnixMillis now) {
    QUARRY_TRY(login_.confirm());
    return path_.empty() ? show_queue(now) : show_one(now);
  }

  std::string called() const {
    return request_.name.empty() ? "this repository" : std::string(request_.name);
  }
  /// Returns the part of the URL that begins with "queue", including the query.
  std::string_view path_and_query() const {
    const std::string_view page = request_.target.substr(0, request_.target.find('?'));
    const std::size_t word = page.rfind("/queue");
    return word == page.npos ? std::string_view() : request_.target.substr(word + 1);
  }
  /// Returns the project's URL relative to the page, because a proxy can serve the project under
  /// any path. The URL is empty or ends with a slash.
  std::string project_base() const {
    const std::string_view below = path_and_query();
    std::string base;
    for (const char c : below.substr(0, below.find('?'))) base += c == '/' ? "../" : "";
    return base;
  }
  PageContext context() const {
    return {.repository = called(),
            .project = project_base(),
            .has_pages = request_.has_pages,
            .user = user_.is_logged_in ? user_.login : std::string()};
  }

  Result<void> show_queue(base::UnixMillis now) {
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
    changes::explain(view, options_.rules, frozen, now);
    if (!wants_json()) return show(queue_page(view, context(), request_.query));
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

  Result<void> answer_check_in() {
    const std::string name = http::form_value(request_.query, "name").value_or("");
    QUARRY_TRY_ASSIGN(const auto snapshot, repository_.snapshot());
    const auto found = repository::CheckIns(repository_).named(name);
    const bool is_missing = !found && (found.error().code == ErrorCode::kNotFound ||
                                       found.error().code == ErrorCode::kInvalid);
    if (!found && !is_missing) return std::unexpected(found.error());
    reply_.body = fmt::format("{{\"check_in\":{}}}\n", found ? json_string(found->str()) : "null");
    return {};
  }

  Result<void> show_one(base::UnixMillis now) {
    reply_.operation = "queue";
    QUARRY_TRY_ASSIGN(const auto place, changes::find_one(directories_, path_));
    const auto question = http::form_value(request_.query, "ask");
    if (question == "why") return answer_why(place.name.id, now);
    if (question == "diff") return show_diff(place);
    if (question == "rollback") return answer_rollback(place.name.id);
    QUARRY_TRY_ASSIGN(auto view, changes::view_job(directories_, place));
    if (!wants_json()) return show_page(std::move(view), now);
    reply_.body = changes::json_of(view, /*whole=*/true) + "\n";
    return {};
  }

  Result<void> show_page(changes::JobView view, base::UnixMillis now) {
    const bool waits = !changes::is_over(view.stage) && view.stage != changes::Stage::kRun;
    const auto why = changes::why_waits(directories_, options_.rules, view.job.name.id, now);
    if (waits && why) view.remark = *why;
    return show(change_set_page(view, context(), form_of(view)));
  }

  /// Returns the form with the actions on the change set that the user can do now.
  ActionForm form_of(const changes::JobView& view) const {
    ActionForm form{.actions = {}, .token = login_.form_token()};
    if (form.token.empty()) return form;
    for (const changes::Action action :
         {changes::Action::kApprove, changes::Action::kHold, changes::Action::kRelease,
          changes::Action::kRetry, changes::Action::kAbandon}) {
      const bool is_needed =
          action != changes::Action::kApprove ||
          !changes::model_job_of(view.job, view.stage, options_.rules).is_approved;
      if (is_needed && changes::is_possible(action, view.stage, view.job) &&
          changes::may_do(options_.rights, action, actor(), view.job)) {
        form.actions.push_back(action);
      }
    }
    return form;
  }

  /// Shows the diff of the change set at PLACE, or a page that reloads itself until the diff has been computed.
  Result<void> show_diff(const changes::JobLocation& place) {
    const changes::ChangeSetName& name = place.name;
    if (name.type == changes::MoveType::kRollback) {
      return fail(ErrorCode::kInvalid, "a rollback does not have a diff before it has landed");
    }
    if (place.stage == changes::Stage::kFail) {
      QUARRY_TRY_ASSIGN(const changes::Job job, directories_.read(place.stage, name));
      if (!job.is_checked() && !job.history.empty()) {
        const std::string& why = job.history.back().why;
        return show(diff_page(name, "The diff cannot be computed: " + why + "\n", context()));
      }
    }
    const auto diff = directories_.read_file(directories_.diff_of(name), 2 * changes::kMaxDiff);
    if (!diff && diff.error().code != ErrorCode::kNotFound) return std::unexpected(diff.error());
    QUARRY_TRY(show(diff_page(name, diff ? std::optional(*diff) : std::nullopt, context())));
    if (diff) return {};
    QUARRY_TRY(directories_.replace_file(
        directories_.control(std::string(changes::kDiffRequest) + std::string(name.id.str())), ""));
    changes::pull(directories_.control(""), changes::Trigger::kPrequeue);
    reply_.headers += "Refresh: 1\r\n";
    return {};
  }

  Result<void> answer_why(const changes::ChangeSetId& id, base::UnixMillis now) {
    QUARRY_TRY_ASSIGN(const std::string why,
                      changes::why_waits(directories_, options_.rules, id, now));
    reply_.body =
        fmt::format("{{\"id\":{},\"why\":{}}}\n", json_string(id.str()), json_string(why));
    return {};
  }

  Result<void> answer_rollback(const changes::ChangeSetId& id) {
    QUARRY_TRY_ASSIGN(const auto places,
                      changes::rollback_closure(directories_, {id}, options_.rules.max_rollback));
    std::string list;
    for (const changes::JobLocation& each : places) {
      list += fmt::format("{}{{\"id\":{},\"stage\":{}}}", list.empty() ? "" : ",",
                          json_string(each.name.id.str()), json_string(word_of(each.stage)));
    }
    reply_.body = fmt::format("{{\"rollback\":[{}]}}\n", list);
    return {};
  }

  Result<void> show(std::string page) {
    reply_.content_type = http::kPageType;
    reply_.headers = http::web_page_headers({}, http::Forms::kToOwnServer);
    reply_.body = std::move(page);
    return {};
  }

  // --- writing ---------------------------------------------------------------------------------

  Result<void> post(base::UnixMillis now) {
    if (!user_.is_logged_in) return refuse_anonymous();
    const std::string_view type = media_type_of(request_.content_type);
    if (path_.empty() && http::same_name(type, changes::kTarballType)) return take(now);
    if (!path_.empty() && http::same_name(type, changes::kActionType)) return act(now);
    if (!path_.empty() && is_form()) return act_by_form(now);
    return refuse(415, fmt::format("to submit a change set, post it to the queue as {}; to change "
                                   "one, post an action to its URL as {}",
                                   changes::kTarballType, changes::kActionType));
  }

  Result<std::string> query_value(std::string_view name) const {
    if (auto value = http::form_value(request_.query, name)) return std::move(*value);
    return fail(ErrorCode::kInvalid, fmt::format("{}: invalid encoding", name));
  }

  Result<void> take(base::UnixMillis now) {
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

  Result<std::int64_t> last_receipt() {
    QUARRY_TRY_ASSIGN(const auto snapshot, repository_.snapshot());
    return repository::ReceivedList(repository_).last_receipt();
  }

  /// Writes the body to FILE and checks its signature.
  Result<void> receive(base::File& file, base::UnixMillis now) {
    QUARRY_TRY(request_.read_body(
        [&](std::string_view bytes) {
          login_.add_body(bytes);
          return file.append(bytes);
        },
        static_cast<std::size_t>(*request_.size)));
    QUARRY_TRY(login_.confirm());
    return check_first(now);
  }

  /// Freezes or thaws a branch.
  Result<void> freeze(bool is_frozen, base::UnixMillis now) {
    reply_.operation = is_frozen ? "freeze" : "thaw";
    const auto branch = http::form_value(request_.query, "branch");
    if (!branch || !changes::is_branch_name(*branch)) {
      return fail(ErrorCode::kInvalid, "branch: not a valid branch name");
    }
    if (!changes::may(options_.rights, changes::Deed::kFreeze, actor())) {
      return fail(
          ErrorCode::kDenied,
          changes::not_permitted("freezing a branch", changes::Deed::kFreeze, options_.rights));
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

  Result<void> act(base::UnixMillis now) {
    if (request_.size.value_or(0) != 0) {
      return fail(ErrorCode::kInvalid, "the body of an action must be empty");
    }
    if (path_ == "freeze" || path_ == "thaw") return freeze(path_ == "freeze", now);
    QUARRY_TRY_ASSIGN(const changes::Job job, do_action(request_.query, now));
    reply_.body = fmt::format("{{\"id\":{},\"done\":{}}}\n", json_string(job.name.id.str()),
                              json_string(reply_.operation));
    return {};
  }

  /// Does the action of a form, and redirects to the page of the change set.
  Result<void> act_by_form(base::UnixMillis now) {
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
                    "the form is not from a page of this login: open the page of the change set "
                    "again, and repeat the action there");
    }
    QUARRY_TRY_ASSIGN(const changes::Job job, do_action(form, now));
    redirect(303, fmt::format("{}queue/{}", project_base(), job.name.id.str()));
    return {};
  }

  /// Does the action in the path. FIELDS are the parameters. Returns the changed job.
  Result<changes::Job> do_action(std::string_view fields, base::UnixMillis now) {
    const std::size_t slash = std::min(path_.find('/'), path_.size());
    const std::string_view digits = path_.substr(0, slash);
    const auto action = changes::action_named(path_.substr(std::min(slash + 1, path_.size())));
    if (!action) return fail(ErrorCode::kNotFound, "unknown action");
    reply_.operation = changes::word_of(*action);
    auto text = http::form_value(fields, "text");
    if (!text || text->size() > kMaxText) {
      return fail(ErrorCode::kInvalid,
                  fmt::format("text: invalid encoding, or more than {} bytes", kMaxText));
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

  void say(std::string_view what) const {
    if (request_.on_progress) request_.on_progress(user_.login, reply_.operation, what);
  }

  const changes::PoolOptions& options_;
  const base::Clock& clock_;
  repository::Repository& repository_;
  const QueueRequest& request_;
  std::string_view path_;
  sync::SignedRequest login_;
  Directories directories_;
  std::string project_code_;
  sync::RequestUser user_;
  QueueReply reply_;
};

}  // namespace

std::optional<std::string_view> queue_path_of(const Target& target) {
  std::string_view rest = target.rest;
  while (!rest.empty()) {
    if (rest.front() == '/') {
      rest.remove_prefix(1);
      continue;
    }
    const std::size_t end = std::min(rest.find('/'), rest.size());
    const std::string_view word = rest.substr(0, end);
    if (word == kQueue) {
      rest.remove_prefix(end);
      while (rest.starts_with('/')) rest.remove_prefix(1);
      return rest;
    }
    if (end == rest.size() && word == "queue.json") return rest.substr(kQueue.size());
    // In a folder, "queue" must directly follow the repository's name. If the pool serves a single
    // repository, any path can precede "queue".
    if (target.name) return std::nullopt;
    rest.remove_prefix(end);
  }
  return std::nullopt;
}

bool is_queue_content_type(std::string_view content_type) {
  const std::string_view type = media_type_of(content_type);
  return http::same_name(type, changes::kTarballType) ||
         http::same_name(type, changes::kActionType) || http::same_name(type, kFormType);
}

QueueReply QueueEndpoint::answer(repository::Repository& repository,
                                 const QueueRequest& request) const {
  return Answer(options_, files_, clock_, repository, request).run();
}

}  // namespace quarry::worker
