#include "server.h"

#include <fmt/core.h>

#include <algorithm>
#include <utility>

#include "cache/cache_rule.h"
#include "fossil/scgi.h"
#include "quarry/base/log.h"
#include "quarry/base/passed_connections.h"
#include "quarry/http/parameters.h"
#include "quarry/http/syntax.h"
#include "quarry/http/web_page.h"
#include "request/place.h"
#include "visit/access_record.h"

namespace quarry::pages {
namespace {

using base::LogLevel;

// Of a page that is made faster than it is taken, so much is held.
constexpr std::size_t kMostUntaken = std::size_t{4} << 20;
constexpr std::size_t kMostVisits = 1000;
constexpr std::string_view kRetryAfter = "Retry-After: 5\r\n";

}  // namespace

Server::Server(event_base* base, const Options& options, const Place& place, const Handles& handles,
               Logins& logins, FossilStarter& starter)
    : base_(base),
      options_(options),
      place_(place),
      handles_(handles),
      logins_(logins),
      visit_limits_{.max_body = options.max_body, .timeout = options.timeout},
      run_limits_{.timeout = options.timeout, .max_reply = options.max_reply},
      surroundings_(options),
      pool_(base, options, place, surroundings_, starter),
      cache_(options.cache, options.cache_ttl),
      taking_(base, handles.taking, EV_READ | EV_PERSIST, [this] { take_connections(); }),
      sweeping_(base, -1, 0, [this] {
        over_.clear();
        begin_waiting();
        end_if_done();
      }) {}

Server::~Server() {
  runs_.clear();
  visits_.clear();
}

void Server::start() {
  pool_.start();
  taking_.wait();
}

void Server::stop() {
  if (std::exchange(is_stopping_, true)) return;
  take_connections();
  taking_.stop_waiting();
  end_if_done();
}

void Server::end_if_done() {
  if (is_stopping_ && visits_.empty() && runs_.empty()) event_base_loopbreak(base_);
}

void Server::on_ended(pid_t pid, int status) {
  const auto is_it = [pid](const auto& each) { return each.second.run->pid() == pid; };
  const auto ended = std::ranges::find_if(runs_, is_it);
  if (ended != runs_.end()) ended->second.run->on_exit(status);
  pool_.on_ended(pid, ended != runs_.end());
}

void Server::take_connections() {
  Visit::Owner& owner = *this;
  while (visits_.size() < kMostVisits) {
    base::Fd connection = base::take_connection(handles_.taking);
    if (!connection) return;
    auto visit = std::make_unique<Visit>(base_, std::move(connection), visit_limits_, owner);
    if (!visit->is_valid()) continue;
    Visit* const key = visit.get();
    visits_[key].visit = std::move(visit);
  }
  // Who passes them on finds the way blocked, and says so.
  taking_.stop_waiting();
}

void Server::on_held(Visit& visit, std::ptrdiff_t bytes) {
  held_ += static_cast<std::size_t>(bytes);
  static_cast<void>(visit);
}

void Server::on_request(Visit& visit, bool is_too_large) {
  const PageRequest& request = visit.request();
  if (is_too_large) {
    return answer(visit, {413, fmt::format("it is larger than {} bytes", options_.max_body)});
  }
  if (held_ > options_.max_bodies) {
    return answer(visit, {503, "too many large requests at the same time: try again later",
                          std::string(kRetryAfter)});
  }
  if (const auto refusal = refused_as_it_is(request)) return answer(visit, *refusal);
  const auto target = target_of(place_, request.path());
  if (!target) return answer(visit, {404, "no such repository"});
  on_target(visit, *target);
}

std::optional<std::string> Server::key_now(const PageRequest& request, const Target& target) const {
  if (!cache_.is_enabled() || logins_.are_at(target)) return std::nullopt;
  auto key = cache_key(request, target, place_.trust_remote_user);
  const auto repository = key ? state_of(target.file) : std::nullopt;
  const auto others = repository ? surroundings_.state() : std::nullopt;
  if (!others) return std::nullopt;
  return *key + "\n" + *repository + "\n" + *others;
}

void Server::on_target(Visit& visit, const Target& target) {
  const auto key = key_now(visit.request(), target);
  if (!key) return ask({.visit = &visit, .target = target});
  if (const auto page = cache_.find(*key, std::chrono::steady_clock::now())) {
    ++handles_.figures.from_cache;
    return answer(visit, *page);
  }
  if (const auto made = shared_.find(*key); made != shared_.end()) {
    made->second->visits.push_back(&visit);
    ++handles_.figures.shared;
    return;
  }
  auto shared = std::make_unique<Shared>(*key, std::list{&visit});
  shared->body.reset(evbuffer_new());
  shared_[*key] = shared.get();
  ask({.visit = &visit, .shared = std::move(shared)});
}

void Server::ask(Waiting waiting) {
  if (pool_.has_place()) return begin(std::move(waiting));
  if (waiting_.size() < options_.max_waiting) {
    waiting_.push_back(std::move(waiting));
    return show_state();
  }
  ++handles_.figures.refused;
  refuse(std::move(waiting),
         {503, "too many pages are being made: try again in a moment", std::string(kRetryAfter)});
}

void Server::begin_waiting() {
  while (!waiting_.empty() && pool_.has_place()) {
    Waiting next = std::move(waiting_.front());
    waiting_.pop_front();
    if (next.target) {
      on_target(*next.visit, *next.target);
    } else {
      begin(std::move(next));
    }
  }
}

void Server::begin(Waiting waiting) {
  Visit& visit = *waiting.visit;
  PageRequest& own = visit.request();
  // What waits without a target was to be shared: there is no password in it.
  std::unique_ptr<LoginAttempt> login;
  if (waiting.target) {
    auto begun = logins_.begin(own, *waiting.target);
    if (!begun) return refuse(std::move(waiting), begun.error());
    login = std::move(*begun);
  }
  auto process = pool_.take();
  if (!process) {
    base::log(LogLevel::kError, "{}", process.error().message);
    return refuse(std::move(waiting), {502, "the program that makes the pages cannot be started"});
  }
  if (login && login->reads_body()) own.forget("HTTP_ACCEPT_ENCODING");
  const PageRequest of_all = waiting.shared ? anonymous(own) : PageRequest();
  const PageRequest& request = waiting.shared ? of_all : own;
  FossilRun::Owner& owner = *this;
  auto run = std::make_unique<FossilRun>(base_, std::move(*process),
                                         scgi_head(request, place_.trust_remote_user),
                                         request.body.get(), request.is_head(), run_limits_, owner);
  FossilRun* const key = run.get();
  ++handles_.figures.made;
  Running& running = runs_[key];
  running = {.run = std::move(run),
             .visit = nullptr,
             .shared = std::move(waiting.shared),
             .request = own.in_words(),
             .login = std::move(login),
             .is_post = own.get(http::parameter::kRequestMethod) == "POST"};
  show_state();
  if (running.shared) return;
  running.visit = &visit;
  visits_.at(&visit).run = key;
}

void Server::show_state() {
  handles_.figures.running = pool_.running();
  handles_.figures.waiting = waiting_.size();
  handles_.figures.cache_size = cache_.size();
}

void Server::answer(Visit& visit, const CachedPage& page) {
  const PageRequest& request = visit.request();
  const auto reply =
      page.reply({.takes_gzip = http::takes_gzip(request.get("HTTP_ACCEPT_ENCODING")),
                  .head_only = request.is_head(),
                  .known_tag = request.get("HTTP_IF_NONE_MATCH")});
  visit.begin(reply.status, reply.head);
  visit.add(reply.body);
  visit.end();
}

void Server::on_taken(Visit& visit) {
  if (FossilRun* const run = visits_.at(&visit).run) run->resume();
}

void Server::on_gone(Visit& visit) {
  const auto found = visits_.find(&visit);
  if (FossilRun* const run = found->second.run) {
    Running& running = runs_.at(run);
    running.visit = nullptr;
    // What it writes to the repository is not to be cut short; nor is what it thinks of a password,
    // which who hears nothing for a moment could guess.
    if (running.is_post || running.login) {
      run->resume();
    } else {
      run->cancel();
    }
  }
  leave_waiting(visit);
  log_access(visit);
  visits_.erase(found);
  if (!is_stopping_) taking_.wait();
  end_if_done();
}

void Server::log_access(Visit& visit) {
  if (handles_.access_log == nullptr || visit.status() == 0) return;
  handles_.access_log->write(access_record(visit, handles_.pool));
}

void Server::leave_waiting(Visit& visit) {
  // A page that is shared is made all the same, and kept.
  for (auto& [key, shared] : shared_) shared->visits.remove(&visit);
  for (auto each = waiting_.begin(); each != waiting_.end();) {
    const bool is_left = each->visit == &visit && (!each->shared || each->shared->visits.empty());
    if (is_left && each->shared) shared_.erase(each->shared->key);
    if (each->visit == &visit && !is_left) each->visit = each->shared->visits.front();
    each = is_left ? waiting_.erase(each) : std::next(each);
  }
}

void Server::on_head(FossilRun& run, http::ReplyHeader& header) {
  Running& running = runs_.at(&run);
  if (running.shared) {
    const bool is_kept = CachedPage::may_be(header) && *header.content_length <= cache_.largest();
    running.shared->header = header;
    if (!is_kept) unshare(run);
    return;
  }
  if (running.login) running.login->on_head(header);
  if (running.visit == nullptr) return;
  visits_.at(running.visit).has_head = true;
  running.visit->begin(header.status, header_block(header));
}

void Server::unshare(FossilRun& run) {
  Running& running = runs_.at(&run);
  const auto shared = std::move(running.shared);
  shared_.erase(shared->key);
  // It may be of the one who asked alone; 400, fossil's word for a locked database, is of nobody.
  for (Visit* const visit : shared->visits) {
    Visiting& visiting = visits_.at(visit);
    const bool is_first = visit == shared->visits.front() && shared->header.status != 400 &&
                          !visit->request().is_head() &&
                          visit->request().get("HTTP_IF_NONE_MATCH").empty();
    if (!is_first) {
      ask({.visit = visit});
      continue;
    }
    running.visit = visit;
    visiting.run = &run;
    visiting.has_head = true;
    visit->begin(shared->header.status, header_block(shared->header));
  }
  if (running.visit == nullptr) run.cancel();
}

void Server::on_body(FossilRun& run, evbuffer* body) {
  const Running& running = runs_.at(&run);
  if (running.shared) {
    evbuffer_add_buffer(running.shared->body.get(), body);
    return;
  }
  if (running.login) running.login->on_body(body);
  if (running.visit == nullptr) {
    evbuffer_drain(body, evbuffer_get_length(body));
    return;
  }
  running.visit->add(body);
  if (running.visit->untaken() > kMostUntaken) run.pause();
}

void Server::on_complete(FossilRun& run) {
  Running& running = runs_.at(&run);
  if (running.login) running.login->on_complete();
  if (running.shared) return give_to_all(*std::exchange(running.shared, nullptr));
  Visit* const visit = std::exchange(running.visit, nullptr);
  if (visit == nullptr) return;
  visits_.at(visit).run = nullptr;
  visit->end();
}

void Server::give_to_all(Shared& shared) {
  shared_.erase(shared.key);
  const std::size_t size = evbuffer_get_length(shared.body.get());
  const auto* bytes = reinterpret_cast<const char*>(evbuffer_pullup(shared.body.get(), -1));
  const auto page = CachedPage::make(std::move(shared.header),
                                     std::string_view(bytes, bytes == nullptr ? 0 : size));
  if (page) cache_.insert(shared.key, page, std::chrono::steady_clock::now());
  for (Visit* const visit : shared.visits) {
    if (page) {
      answer(*visit, *page);
    } else {
      ask({.visit = visit});
    }
  }
}

void Server::on_over(FossilRun& run) {
  const auto found = runs_.find(&run);
  over_.push_back(std::move(found->second));
  runs_.erase(found);
  pool_.gave_back();
  show_state();
  sweeping_.wait(std::chrono::milliseconds{0});
}

}  // namespace quarry::pages
