#include "loop.h"

#include <fmt/core.h>
#include <sys/signalfd.h>
#include <unistd.h>
#include <csignal>

#include <algorithm>
#include <utility>

#include "pool/request_bounds.h"
#include "quarry/base/log.h"
#include "quarry/base/number.h"
#include "quarry/base/service_manager.h"
#include "quarry/master/pid_file.h"
#include "reload/succession.h"

namespace quarry::master {
namespace {

using base::LogLevel;
using std::chrono::milliseconds;

constexpr milliseconds kSecond{1000};
// The key of a note for the next master: the start time of the process, in seconds since 1970.
constexpr const char* kStartedNote = "started";

std::int64_t seconds_now() {
  return scoreboard::wall_micros() / 1'000'000;
}

}  // namespace

Loop::Loop(GlobalConfig global, std::vector<Service> services, Reload reload, Control control)
    : global_(std::move(global)),
      reload_(std::move(reload)),
      control_(std::move(control)),
      master_state_{.generation = reload_.generation,
                    .process_control_timeout = global_.process_control_timeout},
      base_(::event_base_new()),
      process_max_(global_.process_max),
      job_places_(global_.backoffice_max),
      emergency_(global_.emergency_restart_threshold, global_.emergency_restart_interval),
      previous_generation_(std::move(reload_.previous_children), master_state_),
      stopping_(global_.process_control_timeout) {
  for (Service& service : services) {
    Children::Dependencies dependencies{
        .base = base_.get(),
        .master_state = &master_state_,
        .bound = service.kind == ServiceKind::kPool ? &process_max_ : nullptr,
        .forget_others = [this](const Children& one) { return forget_others(services_, one); },
        .on_message = [this](const Service& from, std::uint32_t job,
                             const control::Message& message) { on_message(from, job, message); }};
    services_.push_back(std::make_unique<RunningService>(std::move(service), dependencies,
                                                         process_max_, job_places_));
  }
  for (const auto& one : services_) {
    if (one->jobs != nullptr) one->jobs->count_from(reload_.counters[one->service().name]);
  }
  count_jobs_in_pools();
}

void Loop::count_jobs_in_pools() {
  for (const auto& one : services_) {
    if (one->jobs == nullptr || one->service().on_request->verb != control::Verb::kBackoffice) {
      continue;
    }
    for (const auto& pool : services_) {
      if (pool->service().kind != ServiceKind::kPool) continue;
      const bool asks =
          std::ranges::count(one->service().on_request->from, pool->service().name) > 0;
      if (asks) one->jobs->count_on(pool->children.watch());
    }
  }
}

void Loop::every(milliseconds interval, base::Event::Action action) {
  events_.emplace_back(base_.get(), -1, EV_PERSIST, std::move(action));
  events_.back().wait(interval);
}

// A signalfd is used, because libevent's signal events have global state. Children that also use
// libevent would inherit this state.
Result<void> Loop::watch_signals() {
  sigset_t watched;
  ::sigemptyset(&watched);
  for (const int number : {SIGTERM, SIGINT, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2, SIGCHLD}) {
    ::sigaddset(&watched, number);
  }
  ::sigprocmask(SIG_BLOCK, &watched, nullptr);
  ::signal(SIGCHLD, SIG_DFL);  // a master that ignores SIGCHLD cannot wait for children
  ::signal(SIGPIPE, SIG_IGN);
  signals_.reset(::signalfd(-1, &watched, SFD_CLOEXEC | SFD_NONBLOCK));
  if (!signals_) return fail_errno("cannot watch for signals");
  events_.emplace_back(base_.get(), signals_.get(), EV_READ | EV_PERSIST,
                       [this] { take_signals(); });
  events_.back().wait();
  return {};
}

void Loop::begin_control_server() {
  // Keep the note of an earlier generation, because a reload does not start a new process.
  reload_.notes.try_emplace(kStartedNote, std::to_string(seconds_now()));
  facts_ = {
      .config = control_.config,
      .process_began = base::parse_number<std::int64_t>(reload_.notes.at(kStartedNote)).value_or(0),
      .generation_began = seconds_now(),
      .process_max = global_.process_max,
      .backoffice_max = global_.backoffice_max,
      .emergency_restart_threshold = global_.emergency_restart_threshold};
  if (control_.listener.fd() < 0) return;
  control_server_.emplace(base_.get(), control_.listener.fd(), [this](control::Question question) {
    MasterFacts facts = facts_;
    facts.crashes = emergency_.crashes(std::chrono::steady_clock::now());
    return status_document(question, facts, master_state_, services_, previous_generation_);
  });
}

Result<void> Loop::set_up() {
  if (!base_) return fail(ErrorCode::kIo, "cannot create an event loop");
  QUARRY_TRY(watch_signals());
  begin_control_server();
  reloading_.emplace(base_.get(), master_state_, [this] { return program_to_check(); });
  deadline_ = base::Event(base_.get(), -1, 0, [this] { stop_timed_out(); });
  milliseconds smallest{0};
  for (const auto& one : services_) {
    std::vector<PreviousChild> programs;
    if (reload_.keeps_programs && one->service().program) {
      programs = previous_generation_.take_latest(one->service().name);
    }
    QUARRY_TRY(set_up_board(one->children, reload_.boards, previous_generation_));
    for (PreviousChild& program : programs) one->children.adopt(std::move(program));
    QUARRY_TRY(one->starter->set_up());
    const milliseconds bound = smallest_request_bound(one->service());
    if (bound.count() > 0) smallest = smallest.count() == 0 ? bound : std::min(smallest, bound);
  }
  reload_.boards.clear();  // the remaining boards belong to pools that were removed
  previous_generation_.go_on_listening(
      base_.get(), [this](const std::string& from, const control::Message& message) {
        pass_to_jobs(from, message);  // ignore messages other than requests for jobs
      });
  every(kSecond, [this] {
    for (const auto& one : services_) {
      one->children.refresh_figures();
      publish_snapshot(*one);
    }
  });
  // Publish the snapshots now, so that readers do not find them empty after a reload.
  for (const auto& one : services_) publish_snapshot(*one);
  const milliseconds heartbeat = request_heartbeat(smallest);
  if (heartbeat.count() > 0) every(heartbeat, [this] { check_requests(); });
  return {};
}

void Loop::publish_snapshot(const RunningService& one) {
  const Service& service = one.service();
  if (service.on_jobs && one.jobs != nullptr) service.on_jobs(one.jobs->figures());
  if (!service.on_snapshot) return;
  auto snapshot =
      scoreboard::take_snapshot(one.children.board(), base::ListenQueue::of(service.listener.fd()));
  snapshot.pool = service.pool;
  service.on_snapshot(snapshot);
}

Result<void> Loop::run() {
  QUARRY_TRY(set_up());
  if (!global_.pid_file.empty()) {
    const auto written = write_pid_file(global_.pid_file);
    // This error is fatal only on the first start. After a reload, keep serving without a pid file.
    if (!written && master_state_.generation == 1) return written;
    if (!written) base::log(LogLevel::kError, "{}", written.error().message);
  }
  start_services();
  every(kSecond, [this] { second_passed(); });
  // If a service has failed to start, is_running is false. The loop then runs until the other
  // services have stopped, and the error is returned.
  if (master_state_.is_running) notify_ready();
  if (master_state_.is_running || sum_of(living()) > 0) ::event_base_dispatch(base_.get());
  if (!global_.pid_file.empty()) ::unlink(global_.pid_file.c_str());
  base::log(LogLevel::kNotice, "stopped");
  if (failure_) return std::unexpected(*failure_);
  return {};
}

Result<void> run_master(GlobalConfig global, std::vector<Service> services, Reload reload,
                        Control control) {
  return Loop(std::move(global), std::move(services), std::move(reload), std::move(control)).run();
}

/// Starts all services. On a first start, fails if a service cannot start any of its children.
/// After a reload, failed starts are retried, because clients are already being served.
void Loop::start_services() {
  for (const auto& one : services_) {
    const bool has_begun = one->starter->begin();
    if (!has_begun && master_state_.generation == 1) give_up(*one);
    if (!master_state_.is_running) return;
  }
}

/// Stops everything and makes run() return an error.
void Loop::give_up(const RunningService& service) {
  failure_ =
      Error{ErrorCode::kIo, fmt::format("[{}] cannot start any child: {}", service.service().name,
                                        service.children.start_failure())};
  stop(false);
}

void Loop::notify_ready() {
  master_state_.is_ready = true;
  if (const auto interval = base::watchdog_interval()) {
    const auto keep_alive = [] { base::notify_service_manager("WATCHDOG=1"); };
    // Each generation restarts the timer. If reloads follow each other faster than its interval,
    // only this message keeps the watchdog from expiring.
    keep_alive();
    every(std::chrono::duration_cast<milliseconds>(*interval / 3), keep_alive);
  }
  previous_generation_.ask();
  base::log(LogLevel::kNotice, "ready: process {} with {} children", ::getpid(), sum_of(living()));
  const auto status = [this] { return "STATUS=" + status_line_.next(services_, master_state_); };
  base::notify_service_manager(fmt::format("READY=1\nMAINPID={}\n{}", ::getpid(), status()));
  if (base::has_service_manager() && global_.systemd_interval.count() > 0) {
    every(global_.systemd_interval, [this, status] {
      if (master_state_.is_running) base::notify_service_manager(status());
    });
  }
  if (reload_.on_ready) reload_.on_ready();
}

}  // namespace quarry::master
