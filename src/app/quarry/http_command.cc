// quarry http answers one request, for programs that start a process per request (inetd, a web
// server's CGI). quarry test-http answers requests of fossil's clients over ssh, with all
// capabilities.
#include <fcntl.h>
#include <fmt/format.h>
#include <pwd.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <iterator>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

#include "commands.h"
#include "common/exit_codes.h"
#include "common/owner.h"
#include "quarry/backoffice/turn.h"
#include "quarry/base/escape.h"
#include "quarry/base/fd.h"
#include "quarry/base/file_system.h"
#include "quarry/base/log.h"
#include "quarry/base/socket.h"
#include "quarry/base/spawn.h"
#include "quarry/base/transfer.h"
#include "quarry/changes/options.h"
#include "quarry/repository/repository.h"
#include "quarry/repository/repository_folder.h"
#include "quarry/sync/server_session.h"
#include "quarry/worker/endpoint.h"
#include "quarry/worker/failed_request.h"
#include "quarry/worker/queue_endpoint.h"
#include "server.h"
#include "web_request.h"

namespace quarry::app {
namespace {

using http::Refusal;

constexpr std::chrono::seconds kReadTimeout{120};

/// Logs ERROR, and returns the reply for the client. The reply contains the error message only if
/// IS_TRUSTED, because the message might contain paths.
Refusal refusal_of(const Error& error, bool is_trusted) {
  // Missing files are logged at a low level, because scanners request many of them.
  const bool is_absent = error.code == ErrorCode::kNotFound;
  base::log(is_absent ? base::LogLevel::kDebug : base::LogLevel::kError, "{}", error.message);
  Refusal refusal = worker::refusal_of(error);
  if (is_trusted) refusal.text = error.message;
  return refusal;
}

/// Returns the login name of the calling user.
std::string process_login() {
  const passwd* const user = ::getpwuid(::getuid());
  return user != nullptr ? user->pw_name : std::to_string(::getuid());
}

std::string refuse(const WebRequest& request, const Refusal& refusal) {
  return web_reply(request, refusal.status, "text/plain; charset=utf-8", refusal.text + "\n");
}

/// Returns the reply to a request that could not be parsed.
std::string refuse(const Refusal& refusal, bool http_head) {
  WebRequest unknown;
  unknown.has_http_head = http_head;
  return refuse(unknown, refusal);
}

/// Answers requests for a single repository or a folder of repositories.
class Service {
 public:
  /// IS_FOLDER: whether ARGUMENTS.path is a folder.
  Service(const HttpArguments& arguments, bool is_folder)
      : path_(arguments.path), config_(arguments.config), is_folder_(is_folder) {
    options_.all_rights = arguments.is_trusted;
  }

  std::size_t max_body() const { return options_.max_body; }

  std::string answer(const WebRequest& request) {
    try {
      auto reply = try_to(request);
      return reply ? std::move(*reply) : refuse(request, reply.error());
    } catch (const std::exception& error) {
      base::log(base::LogLevel::kError, "{}", error.what());
      return refuse(request, {.status = 500, .text = "internal error"});
    }
  }
  /// Does deferred work. Called after the answer is sent.
  void tidy_up() {
    if (repository_) repository_->keep_log_short();
  }
  /// Starts a process for the background jobs of the repository if the jobs are due, or if the
  /// server's courier should get new events. The new process outlives this process. Must be called
  /// after the last answer, because this function can close the repository.
  void start_backoffice() {
    if (!repository_) return;
    const auto forecast = backoffice::forecast_run(*repository_, {});
    const bool is_due = forecast && forecast->is_wanted;
    if (!is_due && !has_news_) return;
    const std::string file = std::filesystem::canonical(repository_->path()).string();
    const auto server = server_of(config_, file);
    if (!server) {
      base::log(base::LogLevel::kNotice, "background jobs are not started: {}",
                server.error().message);
      return;
    }
    if (server->pool && !server->pool->background.is_enabled) return;
    if (!is_due && server->courier.empty()) return;
    std::vector<std::string> words{"quarry", "backoffice", "--automatic"};
    if (!is_due) words.emplace_back("--events");
    worker::BackgroundOptions background;
    if (server->pool) background = server->pool->background;
    words.insert(words.end(),
                 {"--mail-methods", fmt::format("{}", fmt::join(background.mail_methods, ","))});
    std::ranges::copy(server->courier, std::back_inserter(words));
    words.insert(words.end(), {"--", file});
    repository_.reset();
    const base::Fd nowhere(::open("/dev/null", O_RDWR | O_CLOEXEC));
    const auto started =
        base::spawn({.words = words,
                     .program = "/proc/self/exe",
                     .descriptors = {nowhere.get(), nowhere.get(), nowhere.get()}});
    if (!started) {
      base::log(base::LogLevel::kError, "cannot start background jobs for {}: {}", file,
                started.error().message);
    }
  }

 private:
  OrRefusal<std::string> try_to(const WebRequest& request) {
    if (auto served = worker::check_method(request.method); !served) {
      return std::unexpected(std::move(served).error());
    }
    auto target = resolve(request.path);
    if (!target) return std::unexpected(refusal_of(target.error(), options_.all_rights));
    const auto endpoint = worker::endpoint_of(request.method, request.content_type, *target);
    const std::string name = target->name ? target->name->str() : "";
    auto opened = open(*target);
    // After a refused request, background jobs are due, too.
    if (!endpoint) return std::unexpected(endpoint.error());
    if (!opened) return std::unexpected(refusal_of(opened.error(), options_.all_rights));
    switch (*endpoint) {
      case worker::Endpoint::kSync:
        return answer_sync(request, **opened);
      case worker::Endpoint::kQueue:
        return answer_queue(request, *target, **opened);
      case worker::Endpoint::kDescription:
        break;
    }
    return web_reply(request, 200, "text/plain; charset=utf-8",
                     worker::description(request.is_https, request.host, name) + "\n");
  }

  /// Logs the request if it failed. OUTCOME contains the figures of a sync, or is a reply of the
  /// queue.
  template <typename Outcome>
  static void log_if_failed(const WebRequest& request, int status, const Outcome& outcome) {
    worker::log_failed_request({.address = request.remote_address,
                                .method = request.method,
                                .uri = request.uri,
                                .status = status,
                                .is_fault = outcome.is_fault,
                                .error = outcome.error,
                                .failed_login = outcome.failed_login});
  }

  std::string answer_sync(const WebRequest& request, repository::Repository& repository) {
    const sync::Reply reply =
        sync::answer(repository, options_,
                     {.content_type = request.content_type,
                      .body = request.body,
                      .remote_address = request.remote_address,
                      .remote_user = request.remote_user,
                      .cookie = request.cookie,
                      .has_left = [] { return base::has_peer_left(STDOUT_FILENO); }});
    has_news_ = has_news_ || reply.figures.has_news;
    log_if_failed(request, reply.status, reply.figures);
    return web_reply(request, reply.status, reply.content_type, reply.body);
  }

  /// Answers a request for the queue, with the rules of the server's pool. The answer is 404 if the
  /// pool does not have queues, or if the folder of the queue does not exist.
  OrRefusal<std::string> answer_queue(const WebRequest& request, const worker::Target& target,
                                      repository::Repository& repository) const {
    std::error_code error;
    const auto server = server_of(config_, std::filesystem::canonical(repository.path(), error));
    if (!server) return std::unexpected(refusal_of(server.error(), options_.all_rights));
    changes::PoolOptions queue;
    std::string name = target.name ? target.name->str() : "";
    if (server->pool) {
      queue = server->pool->changes;
      name = server->name;
    }
    const bool is_off = server->pool && !queue.is_enabled;
    // If the folder cannot be accessed, the endpoint reports the error.
    const auto type = base::type_of_file(changes::queue_base(queue, repository.path(), name));
    if (is_off || (type && *type != std::filesystem::file_type::directory)) {
      return std::unexpected(
          Refusal{.status = 404, .text = "the repository does not have a queue of change sets"});
    }
    const std::string user = options_.all_rights ? process_login() : "";
    const worker::QueueReply reply =
        worker::QueueEndpoint(queue, base::FileSystem::real())
            .answer(repository,
                    {.method = request.method,
                     .target = request.target,
                     .path = worker::queue_path_of(target).value_or(""),
                     .query = request.query,
                     .content_type = request.content_type,
                     .accept = request.accept,
                     .date = request.date,
                     .cookie = request.cookie,
                     .remote_user = request.remote_user,
                     .remote_address = request.remote_address,
                     .name = name,
                     .size = request.body.size(),
                     .read_body = [&request](const auto& sink,
                                             std::size_t) { return sink(request.body); },
                     .trusted_user = user});
    log_if_failed(request, reply.status, reply);
    return web_reply(request, reply.status, reply.content_type, reply.body, reply.headers);
  }

  Result<worker::Target> resolve(std::string_view path) const {
    if (!is_folder_) return worker::target_of_only(path);
    auto target = worker::target_in_folder(
        path, [this](const repository::RepositoryName& name) -> Result<void> {
          QUARRY_TRY(repository::locate(path_, name));
          return {};
        });
    if (!target && target.error().code == ErrorCode::kNotFound) {
      target.error().message =
          fmt::format("{}: no repository for {}", path_.string(), base::printable(path));
    }
    return target;
  }

  Result<repository::Repository*> open(const worker::Target& target) {
    if (!repository_ || target.name != name_) {
      const auto file = target.name ? path_ / target.name->file() : path_;
      QUARRY_TRY_ASSIGN(repository_, repository::Repository::open(file));
      name_ = target.name;
    }
    return repository_.get();
  }

  std::filesystem::path path_;
  std::string config_;
  bool is_folder_;
  bool has_news_ = false;  // whether a request has stored new data
  sync::SessionOptions options_;
  std::optional<repository::RepositoryName> name_;  // name of the open repository in a folder
  std::unique_ptr<repository::Repository> repository_;
};

/// Redirects the log if standard error might be the connection, as it is under inetd.
void keep_log_out_of_replies() {
  struct stat output {};
  struct stat errors {};
  if (::fstat(STDOUT_FILENO, &output) != 0 || ::fstat(STDERR_FILENO, &errors) != 0) return;
  const bool is_same = output.st_dev == errors.st_dev && output.st_ino == errors.st_ino;
  if (!S_ISSOCK(output.st_mode) || !is_same) return;
  base::LogOptions syslog{.target = base::LogTarget::kSyslog, .path = "/dev/log"};
  syslog.ident = "quarry";
  if (!base::open_log(syslog)) base::set_log_descriptor(-1);
  const base::Fd nowhere(::open("/dev/null", O_WRONLY | O_CLOEXEC));
  if (nowhere) ::dup2(nowhere.get(), STDERR_FILENO);
}

int answer_one(Service& service) {
  RequestReader reader(STDIN_FILENO, service.max_body(), kReadTimeout);
  if (is_cgi()) {
    const auto request = reader.cgi();
    base::write_all(STDOUT_FILENO,
                    request ? service.answer(*request) : refuse(request.error(), false));
    service.tidy_up();
    service.start_backoffice();
    return kDone;
  }
  const auto request = reader.next();
  if (!request) {
    base::write_all(STDOUT_FILENO, refuse(request.error(), true));
  } else if (*request) {
    base::write_all(STDOUT_FILENO, service.answer(**request));
    service.tidy_up();
    service.start_backoffice();
  }
  return kDone;
}

int answer_all(Service& service) {
  // Do not set a timeout, because the client might wait for its user between two requests.
  RequestReader reader(STDIN_FILENO, service.max_body(), std::chrono::seconds(0));
  for (bool is_sent = true; is_sent;) {
    const auto request = reader.next();
    if (!request) base::write_all(STDOUT_FILENO, refuse(request.error(), true));
    if (!request || !*request) break;
    is_sent = base::write_all(STDOUT_FILENO, service.answer(**request));
    service.tidy_up();
  }
  service.start_backoffice();
  return kDone;
}

}  // namespace

int run_http(const HttpArguments& arguments) {
  keep_log_out_of_replies();
  const auto become_owner_and_look = [&]() -> Result<std::filesystem::file_type> {
    QUARRY_TRY(act_as_owner_of(arguments.path));
    return base::type_of_file(arguments.path);
  };
  const auto type = become_owner_and_look();
  if (!type) {
    base::write_all(STDOUT_FILENO,
                    refuse(refusal_of(type.error(), arguments.is_trusted), !is_cgi()));
    return kFailed;
  }
  Service service(arguments, *type == std::filesystem::file_type::directory);
  return arguments.is_trusted ? answer_all(service) : answer_one(service);
}

}  // namespace quarry::app
