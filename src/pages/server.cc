#include "server.h"

#include <fmt/core.h>
#include <malloc.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <ranges>
#include <utility>

#include "cache/cache_rule.h"
#include "fossil/scgi.h"
#include "quarry/base/log.h"
#include "quarry/base/log_request.h"
#include "quarry/base/network.h"
#include "quarry/base/number.h"
#include "quarry/base/passed_connections.h"
#include "quarry/base/split.h"
#include "quarry/http/parameters.h"
#include "quarry/http/request_id.h"
#include "quarry/http/web_page.h"
#include "request/target.h"

namespace quarry::pages {
namespace {

using base::LogLevel;

constexpr std::size_t kMaxConnections = 1000;
constexpr std::string_view kRetryAfter = "Retry-After: 5\r\n";
constexpr std::string_view kHiddenQuery = "***";
// Bodies up to this size are accepted even if the size of all bodies exceeds its limit.
constexpr std::size_t kSmallBody = std::size_t{64} << 10;
// After a larger reply, unused memory is returned to the system. The buffers of such a reply
// consist of many small pieces, which the allocator would otherwise keep.
constexpr std::uint64_t kLargeReply = std::uint64_t{1} << 20;
// Time between the end of a large reply and the return of memory to the system: libevent frees some
// buffers only after the connection has been closed.
constexpr std::chrono::milliseconds kTrimDelay{100};
// Clients often repeat refused requests immediately. Without a delay, the refusals would use most
// of the processor time.
constexpr std::chrono::milliseconds kRefusalDelay{1000};

std::string network_of(PageConnection& connection) {
  return base::network_of(connection.request().get(http::parameter::kRemoteAddress));
}

}  // namespace

Server::Server(event_base* base, const Options& options, const ServedRepositories& served,
               const Handles& handles, const Figures::Writable& figures, Logins& logins,
               FossilStarter& starter)
    : base_(base),
      options_(options),
      served_(served),
      handles_(handles),
      figures_(figures),
      logins_(logins),
      fossil_environment_(options),
      pool_(base, options, served, fossil_environment_, starter),
      cache_(options.cache, options.cache_ttl),
      incoming_(base, handles.taking, EV_READ | EV_PERSIST, [this] { take_connections(); }),
      cleanup_(base, -1, 0,
               [this] {
                 finished_.clear();
                 start_waiting();
                 stop_if_idle();
               }),
      trim_(base, -1, 0, [] { ::malloc_trim(0); }),
      refusal_(base, -1, 0, [this] { refuse_delayed(); }) {
  incoming_.wait();
}

Server::~Server() {
  runs_.clear();
  connections_.clear();
}

void Server::stop() {
  if (std::exchange(is_stopping_, true)) return;
  take_connections();
  incoming_.stop_waiting();
  stop_if_idle();
}

void Server::stop_if_idle() {
  if (is_stopping_ && connections_.empty() && runs_.empty()) event_base_loopbreak(base_);
}

void Server::on_ended(pid_t pid, int status) {
  const auto is_it = [pid](const auto& each) { return each.second.run->pid() == pid; };
  const auto ended = std::ranges::find_if(runs_, is_it);
  if (ended != runs_.end()) ended->second.run->on_exit(status);
  pool_.on_ended(pid, ended != runs_.end());
}

void Server::take_connections() {
  PageConnection::Owner& owner = *this;
  while (connections_.size() < kMaxConnections) {
    base::Fd socket = base::take_connection(handles_.taking);
    if (!socket) return;
    auto connection =
        std::make_unique<PageConnection>(base_, std::move(socket), options_, held_, owner);
    if (!connection->is_valid()) continue;
    PageConnection* const key = connection.get();
    connections_[key].connection = std::move(connection);
  }
  // The limit is reached, so leave further connections in the socket. When the socket is full, the
  // process that passes connections on logs an error.
  incoming_.stop_waiting();
}

void Server::on_request(PageConnection& connection, bool is_too_large) {
  PageRequest& request = connection.request();
  request.replace(http::parameter::kRequestId,
                  http::request_id_from(request.get(http::parameter::kRequestId)));
  if (is_too_large) {
    return answer(connection,
                  {413, fmt::format("the body is larger than {} bytes", options_.max_body)});
  }
  if (held_ > options_.max_bodies && connection.held() > kSmallBody) {
    return answer(connection, {503, "too many large requests at the same time: try again later",
                               std::string(kRetryAfter)});
  }
  if (const auto refusal = refuse_request(request)) return answer(connection, *refusal);
  const auto target = target_of(served_, request.path());
  if (!target) return answer(connection, {404, "no such repository"});
  ConnectionState& state = connections_.at(&connection);
  state.repository = target->number;
  state.file = target->file.string();
  state.name = target->name;
  on_target(connection, *target);
}

std::optional<std::string> Server::key_now(const PageRequest& request, const Target& target) const {
  if (!cache_.is_enabled()) return std::nullopt;
  auto key = cache_key(request, target, served_.trust_remote_user);
  const auto repository = key ? state_of(target.file) : std::nullopt;
  const auto others = repository ? fossil_environment_.state() : std::nullopt;
  if (!others) return std::nullopt;
  return *key + "\n" + *repository + "\n" + *others;
}

void Server::on_target(PageConnection& connection, const Target& target) {
  const bool may_have_password = logins_.may_be_in(connection.request(), target);
  connections_.at(&connection).logs_query = !may_have_password;
  const auto key = may_have_password ? std::nullopt : key_now(connection.request(), target);
  if (!key) {
    return ask({.network = network_of(connection), .connection = &connection, .target = target});
  }
  if (const auto page = cache_.find(*key, std::chrono::steady_clock::now())) {
    ++figures_.counters().from_cache;
    return answer(connection, page);
  }
  std::shared_ptr<Shared>& shared = shared_[*key];
  if (shared) {
    ++figures_.counters().shared;
  } else {
    shared = std::make_shared<Shared>(*key, !changes_state(target.page));
  }
  shared->connections.push_back(&connection);
  if (!shared->is_begun) ask({.network = network_of(connection), .shared = shared});
}

bool Server::may_begin(const std::string& network) const {
  const std::size_t limit = options_.max_children_per_address;
  if (limit == 0 || network.empty()) return true;
  const auto is_of_network = [&](const auto& each) { return each.second.network == network; };
  return static_cast<std::size_t>(std::ranges::count_if(runs_, is_of_network)) < limit;
}

void Server::ask(Waiting waiting) {
  if (pool_.has_room() && may_begin(waiting.network)) return begin(std::move(waiting));
  if (waiting.shared && !waiting.shared->networks.insert(waiting.network).second) return;
  waiting_.push(std::move(waiting));
  if (waiting_.size() > options_.max_waiting) turn_away(waiting_.take_last_of_longest());
  show_state();
}

void Server::ask(PageConnection& connection) {
  ask({.network = network_of(connection), .connection = &connection});
}

void Server::turn_away(Waiting waiting) {
  if (waiting.shared) {
    waiting.shared->networks.erase(waiting.network);
    if (!waiting.shared->networks.empty()) return;
  }
  ++figures_.counters().refused;
  if (waiting.shared) {
    shared_.erase(waiting.shared->key);
    for (PageConnection* const each : waiting.shared->connections) {
      refused_.push_back({.connection = each});
    }
  } else {
    refused_.push_back(std::move(waiting));
  }
  const bool is_crowded = connections_.size() > kMaxConnections / 2;
  if (is_crowded) refusal_.wait(std::chrono::milliseconds{0});
  if (!refusal_.is_timed()) refusal_.wait(kRefusalDelay);
}

void Server::refuse_delayed() {
  for (Waiting& each : std::exchange(refused_, {})) {
    refuse(std::move(each), {503, "too many pages are being generated: try again in a moment",
                             std::string(kRetryAfter)});
  }
}

void Server::start_waiting() {
  while (pool_.has_room()) {
    auto next = waiting_.take([this](const std::string& network) { return may_begin(network); });
    if (!next) return show_state();
    if (next->target) {
      on_target(*next->connection, *next->target);
    } else {
      begin(*std::move(next));
    }
  }
}

void Server::begin(Waiting waiting) {
  if (waiting.shared) {
    waiting.shared->is_begun = true;
    waiting_.remove_if([&](const Waiting& each) { return each.shared == waiting.shared; });
    waiting.connection = waiting.shared->connections.front();
  }
  PageConnection& connection = *waiting.connection;
  PageRequest& own = connection.request();
  // WAITING has a target only if its page is not shared. Requests for shared pages do not contain a
  // password.
  std::unique_ptr<LoginAttempt> login;
  if (waiting.target) {
    auto begun = logins_.begin(own, *waiting.target);
    if (!begun) return refuse(std::move(waiting), begun.error());
    login = std::move(*begun);
  }
  auto process = pool_.take();
  if (!process) {
    ++figures_.counters().failed;
    base::log(LogLevel::kError, "{}", process.error().message);
    return refuse(std::move(waiting), {502, "the program that generates pages cannot be started"});
  }
  if (login && login->reads_body()) own.forget("HTTP_ACCEPT_ENCODING");
  const PageRequest of_all = waiting.shared ? anonymous(own) : PageRequest();
  const PageRequest& request = waiting.shared ? of_all : own;
  FossilRun::Owner& owner = *this;
  auto run = std::make_unique<FossilRun>(base_, std::move(*process),
                                         scgi_head(request, served_.trust_remote_user),
                                         request.body.get(), request.is_head(), options_, owner);
  FossilRun* const key = run.get();
  ++figures_.counters().made;
  Running& running = runs_[key];
  running = {.run = std::move(run),
             .connection = nullptr,
             .shared = std::move(waiting.shared),
             .network = std::move(waiting.network),
             .request = own.in_words(),
             .request_id = std::string(own.get(http::parameter::kRequestId)),
             .login = std::move(login),
             .is_post = own.get(http::parameter::kRequestMethod) == "POST",
             .repository = connections_.at(&connection).repository};
  if (running.is_post) running.state_before = state_of(connections_.at(&connection).file);
  show_state();
  if (running.shared) return;
  running.connection = &connection;
  connections_.at(&connection).run = key;
}

void Server::show_state() {
  figures_.gauges().running = pool_.running();
  figures_.gauges().waiting = waiting_.size();
  figures_.gauges().cache_size = cache_.size();
}

void Server::answer(PageConnection& connection, const std::shared_ptr<const CachedPage>& page) {
  const PageRequest& request = connection.request();
  const auto reply =
      page->reply({.takes_gzip = http::takes_gzip(request.get("HTTP_ACCEPT_ENCODING")),
                   .head_only = request.is_head(),
                   .known_tag = request.get("HTTP_IF_NONE_MATCH")});
  connection.begin(reply.status, reply.head);
  connection.add(page, reply.body);
  connection.end();
}

void Server::limit_unread() {
  for (;;) {
    std::size_t total = 0;
    PageConnection* largest = nullptr;
    for (const auto& [key, state] : connections_) {
      PageConnection* const each = state.connection.get();
      total += each->memory();
      if (largest == nullptr || each->memory() > largest->memory()) largest = each;
    }
    if (total <= options_.max_bodies) return;
    const PageRequest& request = largest->request();
    const base::LogRequest logged(std::string(request.get(http::parameter::kRequestId)));
    unread_log_.warn(
        fmt::format("{}: connection closed, because the client does not read its page: the pages "
                    "that clients have not read exceed pages.max_bodies ({} bytes)",
                    request.in_words(), options_.max_bodies));
    on_gone(*largest);
  }
}

void Server::on_drained(PageConnection& connection) {
  if (FossilRun* const run = connections_.at(&connection).run) run->resume();
}

void Server::on_gone(PageConnection& connection) {
  const auto found = connections_.find(&connection);
  if (FossilRun* const run = found->second.run) {
    Running& running = runs_.at(run);
    running.connection = nullptr;
    // Do not abort a process that might be writing to the repository. Do not abort a password check
    // either, because clients could disconnect to prevent their attempts from being counted.
    if (running.is_post || (running.login && running.login->must_finish())) {
      run->resume();
    } else {
      run->cancel();
    }
  }
  remove_waiting(connection);
  if (connection.status() != 0) {
    ++figures_.counters().requests;
    log_access(connection);
  }
  if (connection.replied() > kLargeReply) trim_.wait(kTrimDelay);
  connections_.erase(found);
  if (!is_stopping_) incoming_.wait();
  stop_if_idle();
}

void Server::log_access(PageConnection& connection) {
  if (handles_.access_log == nullptr) return;
  using std::chrono::duration_cast;
  using std::chrono::microseconds;
  const PageRequest& request = connection.request();
  const ConnectionState& state = connections_.at(&connection);
  std::string_view query = request.target();
  base::AccessRecord record;
  record.pool = handles_.pool;
  record.pid = ::getpid();
  record.parent = ::getppid();
  record.written =
      duration_cast<microseconds>(std::chrono::system_clock::now().time_since_epoch()).count();
  record.duration =
      duration_cast<microseconds>(std::chrono::steady_clock::now() - connection.began()).count();
  record.received = record.written - record.duration;
  record.remote_address = request.get(http::parameter::kRemoteAddress);
  record.method = request.get(http::parameter::kRequestMethod);
  record.path = base::take_until(query, '?');
  record.query = query.empty() || state.logs_query ? query : kHiddenQuery;
  record.content_length =
      base::parse_number<std::uint64_t>(request.get(http::parameter::kContentLength)).value_or(0);
  record.status = connection.status();
  record.reply_size = connection.replied();
  record.repository = state.file;
  record.operation = "page";
  record.request_id = request.get(http::parameter::kRequestId);
  handles_.access_log->write(record);
}

void Server::remove_waiting(PageConnection& connection) {
  // If fossil has begun to make a shared page, the page is completed and cached even if all its
  // clients have disconnected.
  for (auto& [key, shared] : shared_) shared->connections.remove(&connection);
  refused_.remove_if([&](const Waiting& each) { return each.connection == &connection; });
  waiting_.remove_if([&](const Waiting& each) {
    return each.shared ? each.shared->connections.empty() : each.connection == &connection;
  });
  std::erase_if(shared_, [](const auto& each) {
    return !each.second->is_begun && each.second->connections.empty();
  });
}

void Server::on_finished(FossilRun& run) {
  const auto found = runs_.find(&run);
  if (handles_.after_request) {
    handles_.after_request(found->second.repository, found->second.is_post);
  }
  if (const std::string errors = run.take_errors(); !errors.empty()) {
    const base::LogRequest logged(found->second.request_id);
    errors_log_.warn(fmt::format("{}: standard error of {}: {}", found->second.request,
                                 options_.program, errors));
  }
  finished_.push_back(std::move(found->second));
  runs_.erase(found);
  pool_.release();
  show_state();
  cleanup_.wait(std::chrono::milliseconds{0});
}

}  // namespace quarry::pages
