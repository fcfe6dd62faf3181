#include "site.h"

#include <fmt/core.h>

#include <algorithm>
#include <chrono>
#include <utility>

#include "admission.h"
#include "group_locks.h"
#include "quarry/base/escape.h"
#include "quarry/base/file_system.h"
#include "quarry/base/log.h"
#include "quarry/base/number.h"
#include "quarry/base/passed_connections.h"
#include "quarry/http/form.h"
#include "quarry/http/web_page.h"
#include "quarry/pages/repository_page.h"
#include "quarry/sync/server_session.h"
#include "quarry/worker/queue_endpoint.h"
#include "session_hosts.h"

namespace quarry::worker {
namespace {

// Maximum time to wait for other hosts when a client asks for a check-in lock.
constexpr std::chrono::milliseconds kMaxLockTime{2000};
constexpr const char* kRetryAfter = "Retry-After: 5\r\n";

Reply refuse(const http::Refusal& refusal) {
  Reply reply = text_reply(refusal.status, refusal.text);
  if (refusal.status == 405) reply.allow = http::kAllowedMethods;
  return reply;
}

Reply refuse(const Error& error) {
  Reply reply = refuse(refusal_of(error));
  reply.error = error.message;
  return reply;
}

Reply reply_of(QueueReply answer, const repository::Repository& repository) {
  Reply reply;
  reply.repository = repository.path().string();
  reply.status = answer.status;
  reply.content_type = std::move(answer.content_type);
  reply.body = std::move(answer.body);
  reply.headers = std::move(answer.headers);
  reply.user = std::move(answer.user);
  reply.operation = std::move(answer.operation);
  reply.failed_login = std::move(answer.failed_login);
  reply.error = std::move(answer.error);
  reply.is_fault = answer.is_fault;
  return reply;
}

Reply reply_of(sync::Reply answer, const repository::Repository& repository,
               std::size_t body_size) {
  Reply reply;
  reply.repository = repository.path().string();
  reply.status = answer.status;
  reply.content_type = std::move(answer.content_type);
  reply.body = std::move(answer.body);
  if (answer.may_retry) reply.headers = kRetryAfter;
  reply.user = std::move(answer.figures.user);
  reply.operation = std::move(answer.figures.operation);
  reply.failed_login = std::move(answer.figures.failed_login);
  reply.error = std::move(answer.figures.error);
  reply.is_fault = answer.figures.is_fault;
  reply.artifacts_in = answer.figures.artifacts_in;
  reply.artifacts_out = answer.figures.artifacts_out;
  reply.synced_in = body_size;
  return reply;
}

std::string base_of(const Request& request) {
  return http::base_url(request.is_https, request.host, request.script_name, request.path_info);
}

Reply page_reply(std::string page) {
  Reply reply;
  reply.content_type = http::kPageType;
  reply.headers = http::web_page_headers();
  reply.body = std::move(page);
  return reply;
}

/// Returns the reply if a file was not found. The reply does not reveal which files exist. If a
/// folder is unreadable or a link leads out of the folder, the error is logged.
Reply not_found_reply(const Error& error) {
  Reply reply = refuse(error);
  reply.is_fault = error.code != ErrorCode::kNotFound;
  return reply;
}

}  // namespace

Site::Site(const WorkerOptions& options, const scoreboard::Board& board,
           const base::ListenQueue& queue, const control::Channel& master)
    : options_(options),
      board_(board),
      status_(options.status, board, queue),
      checkpoint_barrier_(board.leases()),
      cache_(options.cache, open_options()),
      index_(options.repositories, open_options()),
      background_(options, master),
      locks_publication_(options.replication.socket,
                         std::min(options.replication.time_out, kMaxLockTime)) {}

repository::OpenOptions Site::open_options() {
  repository::OpenOptions options = options_.open;
  options.checkpoint_barrier = &checkpoint_barrier_;
  options.on_long_statement = [this](std::string_view sql) {
    if (slot_ != nullptr) slot_->running_sql(sql);
  };
  return options;
}

Result<Target> Site::resolve(std::string_view path) {
  if (!options_.repository.empty()) return target_of_only(path);
  return target_in_folder(path, [this](const repository::RepositoryName& name) {
    return cache_.check_exists(options_.repositories, name);
  });
}

Result<repository::Repository*> Site::open(const Target& target) {
  auto opened = target.name ? cache_.named(options_.repositories, *target.name)
                            : cache_.file(options_.repository);
  if (opened) {
    asked_ = *opened;
    asked_name_ = target.name ? target.name->str() : "";
  }
  return opened;
}

bool Site::pass_on(const Request& request, int connection) {
  if (!check_method(request.method) || status_.is_one(request)) return false;
  const auto target = resolve(request.path());
  return target && is_page(request.method, request.content_type, *target) &&
         base::pass_connection(options_.pages_passing, connection);
}

http::ErrorPlace Site::place_of(const Request& request) const {
  return {.asked = request.path(),
          .base = base_of(request),
          .kind = http::place_kind(!options_.repository.empty(), options_.has_index)};
}

Reply Site::answer(const Request& request, BodyReader& body, scoreboard::Slot& slot) {
  slot_ = &slot;
  if (const auto served = check_method(request.method); !served) return refuse(served.error());
  if (auto page = status_.answer(request, slot)) return std::move(*page);
  const auto target = resolve(request.path());
  if (!target) {
    if (auto index = show_index(request)) return std::move(*index);
    return not_found_reply(target.error());
  }
  slot.executing(target->name ? target->name->str() : "");
  if (may_pass_on() && is_page(request.method, request.content_type, *target)) {
    Reply reply = text_reply(503, "too many pages are being generated: try again in a moment");
    reply.headers = kRetryAfter;
    return reply;
  }
  const auto endpoint = endpoint_of(request.method, request.content_type, *target);
  if (!endpoint) {
    // Open the repository, because background jobs are due after each request.
    (void)open(*target);
    return refuse(endpoint.error());
  }
  switch (*endpoint) {
    case Endpoint::kSync:
      return answer_sync(request, *target, body, slot);
    case Endpoint::kQueue:
      return answer_queue(request, *target, body, slot);
    case Endpoint::kDescription:
      return describe(request, *target);
  }
  return {};
}

Reply Site::answer_sync(const Request& request, const Target& target, BodyReader& reader,
                        scoreboard::Slot& slot) {
  const auto size = base::parse_number<std::uint64_t>(request.content_length);
  if (!size) return text_reply(400, "Content-Length is missing or not a number");
  if (*size > options_.max_body) {
    return text_reply(413, fmt::format("the request is larger than {} bytes", options_.max_body));
  }
  auto repository = open(target);
  if (!repository) return refuse(repository.error());
  slot.doing("", "", "reading the body");
  auto body = reader.read(*size);
  if (!body) return text_reply(400, body.error().message);

  const std::string own_url =
      fmt::format("{}://{}{}{}", request.is_https ? "https" : "http", request.host,
                  target.name ? "/" : "", target.name ? target.name->str() : "");
  Admission admission(options_.admission, board_, slot, (*repository)->path(),
                      request.remote_address);
  if (const auto refused = admission.begin()) {
    return reply_of(sync::refusal_reply(**repository, request.content_type, *refused), **repository,
                    body->size());
  }
  GroupLocks locks(locks_publication_, options_.pool, asked_name_, options_.open.clock->now());
  SessionHosts hosts(options_.replication, options_.pool, asked_name_, **repository,
                     cache_.confirmed_state(), slot);
  sync::Reply answer = sync::answer(
      **repository, options_.session,
      {
          .content_type = request.content_type,
          .body = *body,
          .remote_address = request.remote_address,
          .remote_user = options_.trust_remote_user ? request.remote_user : std::string_view(),
          .cookie = request.cookie,
          .logins = &admission,
          .locks = options_.replication.socket.empty() ? nullptr : &locks,
          .hosts = options_.replication.socket.empty() ? nullptr : &hosts,
          .own_url = own_url,
          .on_progress =
              [&slot](const sync::SessionProgress& now) {
                slot.doing(now.user, now.operation, now.what);
              },
          .has_left = request.has_left,
      });
  has_brought_ = answer.figures.has_news;
  return reply_of(std::move(answer), **repository, body->size());
}

Reply Site::answer_queue(const Request& request, const Target& target, BodyReader& body,
                         scoreboard::Slot& slot) {
  if (!options_.changes.is_enabled)
    return text_reply(404, "this server does not accept change sets");
  auto repository = open(target);
  if (!repository) return refuse(repository.error());
  Admission admission(options_.admission, board_, slot, (*repository)->path(),
                      request.remote_address);
  if (const auto refused = admission.begin()) return text_reply(503, *refused);
  std::string query(request.query);
  if (!query.empty()) query.insert(0, "?");
  const std::string written = std::string(request.path()) + query;
  const std::string name = target.name ? target.name->str() : "";
  QueueReply answer =
      QueueEndpoint(options_.changes, base::FileSystem::real())
          .answer(**repository,
                  {.method = request.method,
                   .target = request.uri.empty() ? std::string_view(written) : request.uri,
                   .path = queue_path_of(target).value_or(""),
                   .query = request.query,
                   .content_type = request.content_type,
                   .accept = request.variable("HTTP_ACCEPT"),
                   .date = request.variable("HTTP_X_QUARRY_DATE"),
                   .cookie = request.cookie,
                   .remote_user = options_.trust_remote_user ? request.remote_user : "",
                   .remote_address = request.remote_address,
                   .host = request.host,
                   .origin = request.variable("HTTP_ORIGIN"),
                   .fetch_site = request.variable("HTTP_SEC_FETCH_SITE"),
                   .name = name,
                   .has_pages = may_pass_on(),
                   .size = base::parse_number<std::uint64_t>(request.content_length),
                   .read_body = [&body](const BodySink& sink,
                                        std::size_t size) { return body.read_into(sink, size); },
                   .logins = &admission,
                   .on_progress = [&slot](auto user, auto operation,
                                          auto what) { slot.doing(user, operation, what); }});
  return reply_of(std::move(answer), **repository);
}

void Site::work_after_reply() {
  cache_.keep_logs_short();
  if (repository::Repository* asked = std::exchange(asked_, nullptr)) {
    background_.after_request(*asked, asked_name_, std::exchange(has_brought_, false));
  }
}

bool Site::has_idle_work() const {
  return cache_.wants_checkpoint();
}

void Site::work_idly() {
  cache_.checkpoint();
}

Reply Site::describe(const Request& request, const Target& target) {
  auto repository = open(target);
  if (!repository) return refuse(repository.error());
  const std::string name = target.name ? target.name->str() : "";
  Reply reply = text_reply(200, description(request.is_https, request.host, name));
  if (http::prefers_html(request.variable("HTTP_ACCEPT"))) {
    const std::string url = base_of(request) + "/" + name;
    std::vector<http::PageLink> links;
    if (options_.has_index && target.name)
      links.push_back({base_of(request) + "/", "Repositories"});
    if (options_.changes.is_enabled) {
      links.push_back(
          {url + (name.empty() ? "queue" : "/queue"), "Change sets", /*is_aside=*/true});
    }
    auto page = pages::repository_page(**repository, url, links, options_.open.clock->now());
    if (!page) return refuse(page.error());
    reply = page_reply(std::move(*page));
  }
  reply.repository = (*repository)->path().string();
  return reply;
}

std::optional<Reply> Site::show_index(const Request& request) {
  const std::string_view path = request.path();
  const bool is_top = path.find_first_not_of('/') == std::string_view::npos;
  if (!options_.has_index || options_.repositories.empty() || request.method == "POST" ||
      (!is_top && (!path.starts_with('/') || !path.ends_with('/')))) {
    return std::nullopt;
  }
  const std::string_view below = is_top ? "" : path.substr(1, path.size() - 2);
  slot_->executing("");
  const pages::RepositoryList list = index_.list(below);
  // A folder without visible repositories gets the same reply as a missing folder.
  if (!is_top && list.repositories.empty()) return std::nullopt;
  const std::string base = base_of(request);
  if (http::prefers_html(request.variable("HTTP_ACCEPT"))) {
    const std::string after = http::form_value(request.query, "after").value_or("");
    return page_reply(pages::index_page(list, base, below, options_.open.clock->now(), after));
  }
  Reply reply;
  reply.body = pages::index_text(list, base);
  return reply;
}

}  // namespace quarry::worker
