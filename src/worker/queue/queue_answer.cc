#include "queue_answer.h"

#include <fmt/core.h>

#include <utility>

#include "quarry/changes/seen_requests.h"
#include "quarry/http/status.h"
#include "quarry/http/web_page.h"

namespace quarry::worker {
namespace {

constexpr std::string_view kJson = ".json";

}  // namespace

QueueReply QueueAnswer::run() {
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

Result<void> QueueAnswer::begin(base::UnixMillis now) {
  {
    QUARRY_TRY_ASSIGN(const auto snapshot, repository_.snapshot());
    project_code_ = repository_.settings().project_code();
    shown_name_ = request_.name.empty() ? repository_.settings().get("project-name").value_or("")
                                        : std::string(request_.name);
  }
  if (shown_name_.empty()) shown_name_ = repository_.path().stem();
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
Result<void> QueueAnswer::check_first(base::UnixMillis now) {
  if (login_.signature().empty()) return {};
  QUARRY_TRY_ASSIGN(const bool is_first,
                    changes::is_first_request(directories_, sync::kMaxSkew, login_.signature(),
                                              login_.date(), now));
  if (is_first) return {};
  return refuse(409, "this request was already accepted: each request needs a new signature");
}

/// Refuses users without the right to read the repository.
Result<void> QueueAnswer::check_readable() {
  if (user_.letters.find_first_of("oias") != std::string::npos) return {};
  if (!user_.is_logged_in) return refuse_anonymous();
  return refuse(403, "not authorized to read");
}

bool QueueAnswer::wants_json() const {
  return (is_post() && !is_form()) || request_.path.ends_with(kJson) ||
         request_.accept.find("application/json") != std::string_view::npos;
}

/// Refuses the request with ERROR. Details of server faults appear only in the log. An error that
/// contains the path of the queue or repository is a server fault, for example a missing
/// permission.
std::unexpected<Error> QueueAnswer::refuse(int status, Error error) {
  const bool names_file = error.message.contains(directories_.base().string()) ||
                          error.message.contains(repository_.path().string());
  if (names_file && status < 500) status = 500;
  reply_.status = status;
  reply_.error = error.message;
  reply_.is_fault = status >= 500 && status != 503;
  const std::string message = status == 507 ? "the server's disk is full"
                              : status == 500 || names_file
                                  ? "the queue is not available: see the server's log"
                                  : error.message;
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

std::unexpected<Error> QueueAnswer::refuse_anonymous() {
  if (!wants_json() && request_.has_pages && http::prefers_html(request_.accept)) {
    const std::string_view after = is_post() ? kQueue : path_and_query();
    redirect(302, project_base() + "login?g=" + http::percent_encode(after));
    return fail(ErrorCode::kDenied, "not logged in");
  }
  reply_.headers += "WWW-Authenticate: Fossil-Login-Card\r\n";
  return refuse(401, "log in: quarry-changes(7) describes how to sign requests");
}

/// Redirects the browser to LOCATION, which is relative to the URL of the request.
void QueueAnswer::redirect(int status, const std::string& location) {
  reply_.status = status;
  reply_.headers += "Location: " + location + "\r\n";
  reply_.content_type = "text/plain; charset=utf-8";
}

/// Returns the part of the URL that begins with "queue", including the query.
std::string_view QueueAnswer::path_and_query() const {
  const std::string_view page = request_.target.substr(0, request_.target.find('?'));
  const std::size_t word = page.rfind("/queue");
  return word == page.npos ? std::string_view() : request_.target.substr(word + 1);
}

/// Returns the project's URL relative to the page, because a proxy can serve the project under
/// any path. The URL is empty or ends with a slash.
std::string QueueAnswer::project_base() const {
  const std::string_view below = path_and_query();
  std::string base;
  for (const char c : below.substr(0, below.find('?'))) base += c == '/' ? "../" : "";
  return base;
}

}  // namespace quarry::worker
