#include "jobs.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <utility>

#include "quarry/base/log.h"

namespace quarry::master {

using base::LogLevel;
using std::chrono::milliseconds;
using std::chrono::steady_clock;

namespace {

using Counter = std::uint64_t Jobs::Figures::*;
constexpr auto kCounters = std::to_array<std::pair<const char*, Counter>>({
    {"asked", &Jobs::Figures::asked},
    {"unknown", &Jobs::Figures::unknown},
    {"started", &Jobs::Figures::started},
    {"failed", &Jobs::Figures::failed},
    {"delayed", &Jobs::Figures::delayed},
    {"held back", &Jobs::Figures::held_back},
    {"dropped", &Jobs::Figures::dropped},
});

}  // namespace

Jobs::Jobs(Children& children, event_base* base, const MasterState& master_state, JobPlaces& places)
    : children_(children),
      service_(children.service()),
      master_state_(master_state),
      places_(places),
      respawn_timer_(base, -1, 0, [this] { places_.share_out(); }) {
  places_.join(*this);
  children_.listen_to_jobs(
      [this](Child& child, const control::Message& message) { return on_message(child, message); });
  const auto now = steady_clock::now();
  for (const OfItself& each : service_.on_request->of_itself) {
    due_[each.number] = each.at_start ? now : now + each.every;
  }
}

void Jobs::asked(const std::string& from, std::uint32_t number, std::chrono::seconds delay) {
  if (!service_.on_request->program_for(from, number)) {
    // A child can send any number, so only the first unknown number is logged as a warning.
    base::log(figures_.unknown++ == 0 ? LogLevel::kWarning : LogLevel::kDebug,
              "[{}] [{}] requested job {}, which does not exist", service_.name, from, number);
    return;
  }
  ++figures_.asked;
  if (delay.count() > 0) return ask_later({from, number, steady_clock::now() + delay});
  queue({from, number, steady_clock::now()});
  places_.share_out();
  if (waiting_numbers_.contains(number)) count_delay();
}

void Jobs::count_delay() {
  ++figures_.delayed;
  if (pool_ != nullptr) pool_->job_delayed();
  if (!has_place() || places_.has_room()) return;
  base::log(figures_.held_back++ == 0 ? LogLevel::kNotice : LogLevel::kDebug,
            "[{}] backoffice.max ({}) is reached: {} waiting, {} running", service_.name,
            places_.limit(), figures().waiting, running());
}

Jobs::Figures Jobs::figures() const {
  Figures figures = figures_;
  figures.running = running();
  figures.waiting = waiting_.size() + count_of(JobStage::kResuming);
  figures.paused = count_of(JobStage::kPaused);
  return figures;
}

std::map<std::string, std::uint64_t> Jobs::counters() const {
  std::map<std::string, std::uint64_t> counters;
  for (const auto& [name, counter] : kCounters) counters[name] = figures_.*counter;
  return counters;
}

void Jobs::count_from(const std::map<std::string, std::uint64_t>& counters) {
  for (const auto& [name, counter] : kCounters) {
    const auto found = counters.find(name);
    if (found != counters.end()) figures_.*counter = found->second;
  }
}

void Jobs::queue(Request request) {
  if (waiting_numbers_.contains(request.number)) return;
  if (waiting_.size() >= kMaxWaiting) {
    ++figures_.dropped;
    return;
  }
  waiting_numbers_.insert(request.number);
  waiting_.push_back(std::move(request));
}

std::size_t Jobs::count_of(JobStage stage) const {
  return static_cast<std::size_t>(std::ranges::count_if(
      children_.living(), [stage](const auto& child) { return child->stage == stage; }));
}

bool Jobs::has_place() const {
  return running() < service_.processes.max_children;
}

bool Jobs::may_start() const {
  return !respawn_timer_.is_timed() && !children_.is_awaiting_previous_children();
}

// A child can repeat a message. Check the stage first, so that a repeated message does not count.
bool Jobs::on_message(Child& child, const control::Message& message) {
  switch (message.verb) {
    case control::Verb::kPause:
      if (child.stage == JobStage::kRunning) change_stage(child, true);
      return true;
    case control::Verb::kResume:
      if (child.stage == JobStage::kPaused) change_stage(child, false);
      return true;
    case control::Verb::kAgain:
      run_again(child.number, std::chrono::seconds(message.number));
      return true;
    default:
      return false;
  }
}

void Jobs::change_stage(Child& child, bool pauses) {
  child.stage = pauses ? JobStage::kPaused : JobStage::kResuming;
  child.stage_since = steady_clock::now();
  places_.share_out();
  if (child.stage == JobStage::kResuming) count_delay();
}

Child* Jobs::first_resuming() const {
  Child* first = nullptr;
  for (const auto& child : children_.living()) {
    if (child->stage != JobStage::kResuming) continue;
    if (first == nullptr || child->stage_since < first->stage_since) first = child.get();
  }
  return first;
}

Jobs::Waiting::const_iterator Jobs::first_to_start() const {
  const auto runs = [this](const Request& request) {
    return std::ranges::any_of(children_.living(), [&](const std::unique_ptr<Child>& child) {
      return child->number == request.number;
    });
  };
  return may_start() ? std::ranges::find_if_not(waiting_, runs) : waiting_.end();
}

std::optional<JobTurn> Jobs::first_waiting() const {
  if (!master_state_.is_running || !has_place()) return std::nullopt;
  if (const Child* first = first_resuming()) return JobTurn{false, first->stage_since};
  const auto next = first_to_start();
  if (next == waiting_.end()) return std::nullopt;
  return JobTurn{true, next->since};
}

bool Jobs::take_place() {
  if (Child* first = first_resuming()) {
    first->stage = JobStage::kRunning;
    first->stage_since = steady_clock::now();
    first->control.send({control::Verb::kResume, first->number});
    return true;
  }
  const auto next = first_to_start();
  if (next == waiting_.end()) return false;
  // Determine the program again, because the configured numbers might have changed since the
  // request. Drop the request if its number does not exist any more.
  const auto program = service_.on_request->program_for(next->from, next->number);
  if (program && !children_.start({.program = &*program, .number = next->number})) return false;
  if (program) ++figures_.started;
  if (program && pool_ != nullptr) pool_->job_started();
  waiting_numbers_.erase(next->number);
  waiting_.erase(next);
  return true;
}

void Jobs::end_overdue_jobs() {
  if (service_.longest_run.count() == 0) return;
  for (const auto& child : children_.living()) {
    const auto ran = steady_clock::now() - child->stage_since;
    const bool waits_for_us = child->stage == JobStage::kResuming;
    if (child->asked_to_end_at || waits_for_us || ran < service_.longest_run) continue;
    base::log(LogLevel::kWarning, "[{}] child {} is terminated: job {} took longer than {:.0f} s",
              service_.name, child->pid, child->number,
              std::chrono::duration<double>(service_.longest_run).count());
    Children::ask_to_end(service_, *child);
  }
}

void Jobs::ask_later(Request request) {
  const auto at = delayed_.find(request.number);
  if (at != delayed_.end()) {
    at->second.since = std::min(at->second.since, request.since);
  } else if (delayed_.size() < kMaxWaiting) {
    delayed_.emplace(request.number, std::move(request));
  } else {
    ++figures_.dropped;
  }
}

void Jobs::ask_for_due() {
  const auto now = steady_clock::now();
  std::erase_if(delayed_, [&](auto& each) {
    const bool is_due = each.second.since <= now;
    if (is_due) queue(std::move(each.second));
    return is_due;
  });
  for (const OfItself& each : service_.on_request->of_itself) {
    auto& due = due_[each.number];
    if (now < due) continue;
    // The time of the next run, unless the job requests another time.
    due = now + each.every;
    asked(service_.name, each.number);
  }
}

/// Runs the job NUMBER again after WAIT, but never immediately, because a job could otherwise run
/// in a loop.
void Jobs::run_again(std::uint32_t number, std::chrono::seconds wait) {
  const auto at = due_.find(number);
  if (at != due_.end()) at->second = steady_clock::now() + std::max(wait, std::chrono::seconds(1));
}

void Jobs::second_passed() {
  ask_for_due();
  children_.escalate_overdue();  // before end_overdue_jobs(), whose jobs must not be killed yet
  end_overdue_jobs();
  places_.share_out();
}

Vacancy Jobs::child_ended(const Remains& remains) {
  if (remains.has_failed) ++figures_.failed;
  if (pool_ != nullptr) pool_->job_ended(remains.ran, remains.has_failed ? remains.how : "");
  const milliseconds wait = respawn_.after(remains.death);
  if (wait.count() > 0 && !respawn_timer_.is_timed()) {
    base::log(LogLevel::kWarning, "[{}] jobs fail too soon after they start; next start in {} ms",
              service_.name, wait.count());
    children_.watch().backed_off(
        fmt::format("a job {} after {} ms", remains.how, remains.death.lived.count()), wait);
    respawn_timer_.wait(wait);
  }
  if (!respawn_timer_.is_timed()) return Vacancy::kFree;
  places_.share_out();  // this service has to wait, so offer the place to others
  return Vacancy::kReserved;
}

}  // namespace quarry::master
