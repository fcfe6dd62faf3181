#include "server.h"

#include <fmt/core.h>

#include <algorithm>
#include <utility>

#include "fossil/scgi.h"
#include "quarry/base/escape.h"
#include "quarry/base/log.h"
#include "quarry/base/passed_connections.h"
#include "quarry/http/parameters.h"
#include "quarry/http/request_head.h"
#include "quarry/http/status.h"
#include "quarry/http/syntax.h"
#include "request/place.h"

namespace quarry::pages {
namespace {

using base::LogLevel;

// Of a page that is made faster than it is taken, so much is held.
constexpr std::size_t kMostUntaken = std::size_t{4} << 20;
constexpr std::size_t kMostVisits = 1000;
constexpr std::string_view kRetryAfter = "Retry-After: 5\r\n";

bool is_served(std::string_view method) {
  return method == "GET" || method == "HEAD" || method == "POST";
}

/// As a web server reads it. Its own Date and Connection are its own affair.
std::string header_block(const http::ReplyHeader& header) {
  std::string block = fmt::format("Status: {} {}\r\n", header.status, header.reason);
  for (const auto& [name, value] : header.fields) {
    if (!http::same_name(name, "Date")) block += fmt::format("{}: {}\r\n", name, value);
  }
  if (header.content_length) block += fmt::format("Content-Length: {}\r\n", *header.content_length);
  return block + "\r\n";
}

int status_of(FossilRun::Fault fault) {
  return fault == FossilRun::Fault::kTimeout ? 504 : 502;
}

}  // namespace

Server::Server(event_base* base, const Options& options, const Place& place, const Handles& handles)
    : base_(base),
      options_(options),
      place_(place),
      handles_(handles),
      visit_limits_{.max_body = options.max_body, .timeout = options.timeout},
      run_limits_{.timeout = options.timeout, .max_reply = options.max_reply},
      pool_(base, options, place),
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

void Server::reap() {
  pool_.reap([this](pid_t pid, int status) {
    for (auto& [run, running] : runs_) {
      if (running.run->pid() == pid) return running.run->on_exit(status);
    }
  });
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
    return answer(visit, 413, fmt::format("it is larger than {} bytes", options_.max_body));
  }
  if (held_ > options_.max_bodies) {
    return answer(visit, 503, "too many large requests at the same time: try again later",
                  kRetryAfter);
  }
  if (!is_served(request.get(http::parameter::kRequestMethod))) {
    return answer(visit, 405, "this method is not served here",
                  fmt::format("Allow: {}\r\n", http::kAllowedMethods));
  }
  if (const auto file = file_of(place_, request.path()); !file) {
    return answer(visit, 404, "no such repository");
  }
  ask(visit);
}

void Server::ask(Visit& visit) {
  if (pool_.has_place()) return begin(visit);
  if (waiting_.size() >= options_.max_waiting) {
    return answer(visit, 503, "too many pages are being made: try again in a moment", kRetryAfter);
  }
  waiting_.push_back(&visit);
}

void Server::begin_waiting() {
  while (!waiting_.empty() && pool_.has_place()) {
    Visit* const next = waiting_.front();
    waiting_.pop_front();
    begin(*next);
  }
}

void Server::begin(Visit& visit) {
  auto process = pool_.take();
  if (!process) {
    base::log(LogLevel::kError, "{}", process.error().message);
    return answer(visit, 502, "the program that makes the pages cannot be started");
  }
  PageRequest& request = visit.request();
  FossilRun::Owner& owner = *this;
  auto run = std::make_unique<FossilRun>(base_, std::move(*process),
                                         scgi_head(request, place_.trust_remote_user),
                                         request.body.get(), request.is_head(), run_limits_, owner);
  FossilRun* const key = run.get();
  visits_.at(&visit).run = key;
  const bool is_post = request.get(http::parameter::kRequestMethod) == "POST";
  runs_[key] = {std::move(run), &visit, request.in_words(), is_post};
}

void Server::answer(Visit& visit, int status, std::string_view text, std::string_view headers) {
  base::log(status < 500 ? LogLevel::kNotice : LogLevel::kWarning, "{}: {} {}",
            visit.request().in_words(), status, text);
  const std::string page = fmt::format("{} {}: {}\n", status, http::reason_phrase(status), text);
  visit.add(
      fmt::format("Status: {} {}\r\nContent-Type: text/plain; charset=utf-8\r\n"
                  "Cache-Control: no-store\r\n{}Content-Length: {}\r\n\r\n",
                  status, http::reason_phrase(status), headers, page.size()));
  if (!visit.request().is_head()) visit.add(page);
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
    // What it writes to the repository is not to be cut short.
    if (running.is_post) {
      run->resume();
    } else {
      run->cancel();
    }
  }
  waiting_.remove(&visit);
  visits_.erase(found);
  if (!is_stopping_) taking_.wait();
  end_if_done();
}

void Server::on_head(FossilRun& run, http::ReplyHeader& header) {
  Visit* const visit = runs_.at(&run).visit;
  if (visit == nullptr) return;
  visits_.at(visit).has_head = true;
  visit->add(header_block(header));
}

void Server::on_body(FossilRun& run, evbuffer* body) {
  Visit* const visit = runs_.at(&run).visit;
  if (visit == nullptr) {
    evbuffer_drain(body, evbuffer_get_length(body));
    return;
  }
  visit->add(body);
  if (visit->untaken() > kMostUntaken) run.pause();
}

void Server::on_complete(FossilRun& run) {
  Visit* const visit = std::exchange(runs_.at(&run).visit, nullptr);
  if (visit == nullptr) return;
  visits_.at(visit).run = nullptr;
  visit->end();
}

void Server::on_fault(FossilRun& run, FossilRun::Fault fault, const std::string& reason) {
  Running& running = runs_.at(&run);
  base::log(LogLevel::kWarning, "{}: {}: {}", running.request, options_.program, reason);
  Visit* const visit = std::exchange(running.visit, nullptr);
  if (visit == nullptr) return;
  Visiting& visiting = visits_.at(visit);
  visiting.run = nullptr;
  if (visiting.has_head) return break_off(*visit);
  const int status = status_of(fault);
  answer(*visit, status,
         status == 504 ? "the page takes too long to make" : "the page could not be made");
}

void Server::break_off(Visit& visit) {
  // Without the record that ends a reply, the web server knows that some of it is missing.
  visits_.erase(&visit);
  if (!is_stopping_) taking_.wait();
}

void Server::on_over(FossilRun& run) {
  const auto found = runs_.find(&run);
  over_.push_back(std::move(found->second));
  runs_.erase(found);
  pool_.gave_back();
  sweeping_.wait(std::chrono::milliseconds{0});
}

}  // namespace quarry::pages
