#include "site.h"

#include <fmt/core.h>

#include <charconv>

#include "admission.h"
#include "quarry/base/log.h"

namespace quarry::worker {
namespace {

using base::ErrorCode;

/// CONTENT_LENGTH; nothing when it is none.
std::optional<std::size_t> body_size(std::string_view text) {
  std::size_t size = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), size);
  if (text.empty() || error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return size;
}

/// What a client is told of a repository that cannot be opened. The path and the cause are for the
/// log alone.
Reply refusal(const base::Error& error) {
  Reply reply;
  switch (error.code) {
    case ErrorCode::kNotFound:
    case ErrorCode::kDenied:
      reply = text_reply(404, "no such repository");
      break;
    case ErrorCode::kBusy:
      reply = text_reply(503, "the repository is busy, try again");
      break;
    default:
      reply = text_reply(500, "the repository cannot be opened");
      break;
  }
  reply.error = error.message;
  return reply;
}

/// The reply where no file was found. Clients are not told of what lies where they may not go, but
/// a folder that the server may not look into, or a link out of it, is for somebody to mend.
Reply not_there(const base::Error& error) {
  Reply reply = refusal(error);
  reply.is_fault = error.code != ErrorCode::kNotFound;
  return reply;
}

Reply not_allowed(std::string_view method) {
  Reply reply =
      text_reply(405, fmt::format("method {} is not served here", base::printable(method, 20)));
  reply.allow = "GET, HEAD, POST";
  return reply;
}

}  // namespace

Site::Site(const WorkerOptions& options, const scoreboard::Board& board,
           const base::ListenQueue& queue)
    : options_(options),
      board_(board),
      status_(options.status, board, queue),
      log_gate_(board.holds()),
      cache_(options.cache, open_options()) {}

repository::OpenOptions Site::open_options() {
  repository::OpenOptions options = options_.open;
  options.log_gate = &log_gate_;
  options.on_long_statement = [this](std::string_view sql) {
    if (slot_ != nullptr) slot_->running_sql(sql);
  };
  return options;
}

base::Result<Site::Target> Site::resolve(std::string_view path) {
  if (!options_.repository.empty()) {
    const std::size_t last = path.find_last_not_of('/');
    const std::string_view trimmed = path.substr(0, last + 1);
    const std::string_view word = trimmed.substr(trimmed.rfind('/') + 1);
    return Target{std::nullopt, is_endpoint(word) ? word : std::string_view(), trimmed};
  }
  base::Error why{.code = ErrorCode::kNotFound, .message = "no such repository"};
  for (NameCandidate& candidate : names_in(path)) {
    if (auto found = cache_.look_for(options_.repositories, candidate.name); !found) {
      if (why.code == ErrorCode::kNotFound) why = std::move(found).error();
      continue;
    }
    const std::string_view word = candidate.rest.substr(0, candidate.rest.find('/'));
    return Target{std::move(candidate.name), candidate.has_endpoint ? word : std::string_view(),
                  candidate.rest};
  }
  return std::unexpected(std::move(why));
}

base::Result<repository::Repository*> Site::open(const Target& target) {
  if (target.name) return cache_.named(options_.repositories, *target.name);
  return cache_.file(options_.repository);
}

Reply Site::answer(const Request& request, const BodyReader& read_body, scoreboard::Slot& slot) {
  slot_ = &slot;
  const bool is_post = request.method == "POST";
  if (!is_post && request.method != "GET" && request.method != "HEAD") {
    return not_allowed(request.method);
  }
  if (auto page = status_.answer(request, slot)) return std::move(*page);
  const auto target = resolve(request.path());
  if (!target) return not_there(target.error());
  slot.executing(target->name ? target->name->str() : "");
  if (!is_post) return answer_get(request, *target);
  if (!sync::is_sync_content_type(request.content_type)) {
    return text_reply(415, "only sync requests (application/x-fossil) are taken here");
  }
  return answer_sync(request, *target, read_body, slot);
}

Reply Site::answer_sync(const Request& request, const Target& target, const BodyReader& read_body,
                        scoreboard::Slot& slot) {
  const auto size = body_size(request.content_length);
  if (!size) return text_reply(400, "Content-Length is missing or no number");
  if (*size > options_.max_body) {
    return text_reply(413, fmt::format("the request is larger than {} bytes", options_.max_body));
  }
  auto repository = open(target);
  if (!repository) return refusal(repository.error());
  slot.doing("", "", "reading the body");
  auto body = read_body(*size);
  if (!body) return text_reply(400, body.error().message);

  const std::string own_url =
      fmt::format("{}://{}{}{}", request.is_https ? "https" : "http", request.host,
                  target.name ? "/" : "", target.name ? target.name->str() : "");
  sync::ServerSession session(**repository, options_.session);
  Admission admission(options_.admission, board_, slot, (*repository)->path(),
                      request.remote_address);
  if (const auto refused = admission.begin()) {
    return reply_of(session.turn_away(request.content_type, *refused), **repository, body->size());
  }
  sync::Reply answer = session.answer({
      .content_type = request.content_type,
      .body = *body,
      .remote_address = request.remote_address,
      .remote_user = options_.trust_remote_user ? request.remote_user : std::string_view(),
      .cookie = request.cookie,
      .logins = &admission,
      .own_url = own_url,
      .on_progress =
          [&slot](const sync::Doing& now) { slot.doing(now.user, now.operation, now.what); },
      .has_left = request.has_left,
  });
  return reply_of(std::move(answer), **repository, body->size());
}

Reply Site::reply_of(sync::Reply answer, const repository::Repository& repository,
                     std::size_t body_size) {
  Reply reply;
  reply.repository = repository.path().string();
  reply.status = answer.status;
  reply.content_type = std::move(answer.content_type);
  reply.body = std::move(answer.body);
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

void Site::work_after_reply() {
  cache_.keep_logs_short();
}

bool Site::has_idle_work() const {
  return cache_.wants_checkpoint();
}

void Site::work_idly() {
  cache_.checkpoint();
}

Reply Site::answer_get(const Request& request, const Target& target) {
  const bool is_base = target.rest.empty() || target.rest == "index" || target.endpoint == "xfer";
  if (!is_base) return text_reply(404, "no such page: this server speaks the sync protocol only");
  auto repository = open(target);
  if (!repository) return refusal(repository.error());
  const std::string name = target.name ? target.name->str() : "";
  Reply reply = text_reply(
      200, fmt::format("A Fossil repository. To have it:  fossil clone {}://{}/{}",
                       request.is_https ? "https" : "http", base::printable(request.host), name));
  reply.repository = (*repository)->path().string();
  return reply;
}

}  // namespace quarry::worker
