#include "children.h"

#include <fmt/core.h>
#include <sys/wait.h>
#include <csignal>

#include <algorithm>
#include <utility>

#include "child/spawn.h"
#include "quarry/base/log.h"
#include "quarry/control/reopened_logs.h"

namespace quarry::master {
namespace {

using base::LogLevel;
using std::chrono::milliseconds;
using std::chrono::steady_clock;

// Maximum number of messages to read at once, so that a child that sends messages continuously does
// not delay other events.
constexpr int kMessagesAtOnce = 64;
// Failed starts are retried every second, but logged only once in this interval.
constexpr std::chrono::minutes kBetweenFailures{1};

bool has_ended_well(int status) {
  return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

}  // namespace

std::string how_it_ended(int status) {
  if (WIFSIGNALED(status)) return fmt::format("was killed by signal {}", WTERMSIG(status));
  return fmt::format("exited with code {}", WEXITSTATUS(status));
}

control::Received take_messages(const control::Channel& channel,
                                const std::function<void(const control::Message&)>& on_message) {
  for (int i = 0; i < kMessagesAtOnce; ++i) {
    control::Message message{};
    const auto received = channel.receive(&message);
    if (received != control::Received::kMessage) return received;
    on_message(message);
  }
  return control::Received::kNothing;
}

void send_logs_to(pid_t child, const control::Channel& channel, const Service& service) {
  // Skip a child that is exiting, whose channel is closed.
  if (service.is_program() || channel.fd() < 0 ||
      control::send_logs(channel, service.access_log.get()))
    return;
  base::log(LogLevel::kWarning,
            "[{}] child {} has not accepted the reopened logs and keeps the old ones", service.name,
            child);
}

Children::Children(Service service, Dependencies dependencies)
    : service_(std::move(service)), dependencies_(std::move(dependencies)) {}

void Children::stand_on(scoreboard::Board board, scoreboard::SlotAllocator slots,
                        const scoreboard::PoolState* former, std::size_t previous_children) {
  board_ = std::move(board);
  slots_ = std::move(slots);
  watch_.begin(board_, service_, dependencies_.master_state->generation, former);
  watch_.previous_children(previous_children);
}

bool Children::start(const StartOptions& options) {
  // Check the limit here, because the number of slots is higher. The board also has slots for
  // children of earlier generations.
  const std::size_t paused = service_.on_request ? service_.on_request->max_paused : 0;
  if (children_.size() >= service_.processes.max_children + paused) return false;
  std::optional<std::size_t> slot;
  if (!service_.is_program()) {
    slot = slots_.allocate();
    if (!slot) return false;
  }
  // On the first start, wait until the child can run, because the server must not be reported as
  // ready too early.
  const MasterState& master_state = *dependencies_.master_state;
  const bool is_first = master_state.generation == 1 && !master_state.is_ready && children_.empty();
  const ChildEnds ends{board_, slot, options.child_accept, is_first, options.program};
  auto spawned = spawn(service_, ends, [&] { return dependencies_.forget_others(*this); });
  if (!spawned) {
    log_start_failure(std::move(spawned).error().message);
    if (slot) slots_.free(*slot);
    return false;
  }
  auto child = std::make_unique<Child>();
  child->pid = spawned->pid;
  child->slot = slot;
  child->number = options.number;
  child->control = std::move(spawned->control);
  std::optional<CaughtOutput> output;
  if (spawned->output) {
    output = CaughtOutput{{std::move(spawned->output->out.reading)},
                          {std::move(spawned->output->err.reading)},
                          service_.process.decorate_output};
  }
  base::log(LogLevel::kDebug, "[{}] child {} started", service_.name, child->pid);
  if (!std::exchange(start_failure_, {}).empty()) {
    base::log(LogLevel::kNotice, "[{}] children can be started again", service_.name);
  }
  add(std::move(child), std::move(output));
  if (dependencies_.bound != nullptr) dependencies_.bound->started();
  return true;
}

void Children::adopt(PreviousChild adopted) {
  auto child = std::make_unique<Child>();
  child->pid = adopted.pid;
  if (adopted.control) child->control = control::Channel(std::move(adopted.control));
  add(std::move(child), std::move(adopted.output));
}

void Children::add(std::unique_ptr<Child> child, std::optional<CaughtOutput> output) {
  child->started = child->stage_since = steady_clock::now();
  if (child->control.fd() >= 0) {
    child->on_control = base::Event(dependencies_.base, child->control.fd(), EV_READ | EV_PERSIST,
                                    [this, c = child.get()] { read_control(*c); });
    child->on_control.wait();
  }
  if (output) {
    child->output = std::make_unique<ChildOutput>(
        dependencies_.base, fmt::format("[{}] child {}", service_.name, child->pid),
        std::move(*output));
  }
  children_.push_back(std::move(child));
  watch_.child_started(children_.size());
}

void Children::log_start_failure(std::string why) {
  const auto now = steady_clock::now();
  const bool is_known = why == start_failure_ && now - failure_logged_at_ < kBetweenFailures;
  start_failure_ = std::move(why);
  if (is_known) return;
  failure_logged_at_ = now;
  base::log(LogLevel::kError, "[{}] {}", service_.name, start_failure_);
}

void Children::read_control(Child& child) {
  const auto last = take_messages(child.control, [&](const control::Message& message) {
    if (job_listener_ && job_listener_(child, message)) return;
    dependencies_.on_message(service_, child.number, message);
  });
  if (last == control::Received::kNothing) return;
  if (last == control::Received::kMalformed) {
    base::log(LogLevel::kWarning, "[{}] child {} sent an invalid message; closing its channel",
              service_.name, child.pid);
  }
  child.on_control.stop_waiting();
  child.control.close();
}

bool Children::has_answered(const Child& child) const {
  return child.slot && board_.read(*child.slot).state.requests > 0;
}

std::optional<Remains> Children::reap(pid_t pid, int status) {
  const auto at = std::ranges::find_if(
      children_, [pid](const std::unique_ptr<Child>& child) { return child->pid == pid; });
  if (at == children_.end()) return std::nullopt;
  Child& child = **at;
  // Read the child's last messages first. The exit of a child might be reported before its
  // messages.
  if (child.control.fd() >= 0) read_control(child);
  Remains remains;
  remains.how = how_it_ended(status);
  remains.number = child.number;
  remains.was_asked_to_end = child.asked_to_end_at.has_value();
  remains.has_failed = !has_ended_well(status);
  Death& death = remains.death;
  death.lived = std::chrono::duration_cast<milliseconds>(steady_clock::now() - child.started);
  remains.ran = std::chrono::duration_cast<milliseconds>(
      steady_clock::now() -
      (child.stage == JobStage::kRunning ? child.stage_since : child.started));
  death.was_killed = WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL;
  death.was_orderly = !remains.has_failed && (service_.on_request || has_answered(child));

  if (child.output) child.output->finish();
  const bool is_expected = !remains.has_failed || !dependencies_.master_state->is_running;
  base::log(is_expected ? LogLevel::kDebug : LogLevel::kWarning, "[{}] child {} {} after {:.3f} s",
            service_.name, pid, remains.how, static_cast<double>(death.lived.count()) / 1000);

  watch_.child_ended(child.slot, children_.size() - 1);
  if (child.slot) slots_.free(*child.slot);
  children_.erase(at);
  if (dependencies_.bound != nullptr) dependencies_.bound->ended();
  return remains;
}

void Children::reap_previous_child(std::optional<std::size_t> slot, std::size_t previous_children) {
  if (!slot) return watch_.previous_children(previous_children);
  watch_.previous_child_ended(*slot, previous_children);
  slots_.free(*slot);
}

IdleChildren Children::idle() const {
  const std::int64_t now = scoreboard::monotonic_micros();
  std::vector<std::pair<milliseconds, Child*>> found;
  for (const auto& child : children_) {
    if (child->asked_to_end_at || !child->slot) continue;
    const auto reading = board_.read(*child->slot);
    if (reading.is_torn || reading.state.stage != scoreboard::Stage::kAccepting) continue;
    // Clamp the value, because it is not trusted: the child can write any number.
    const std::int64_t since = std::clamp<std::int64_t>(reading.state.stage_since, 0, now);
    found.emplace_back(milliseconds((now - since) / 1000), child.get());
  }
  std::ranges::stable_sort(found, std::greater{}, [](const auto& one) { return one.first; });
  IdleChildren idle;
  for (const auto& [since, child] : found) {
    idle.children.push_back(child);
    idle.idle_for.push_back(since);
  }
  return idle;
}

void Children::signal(int number) const {
  for (const auto& child : children_) ::kill(child->pid, number);
}

void Children::reopen_logs() const {
  for (const auto& child : children_) send_logs_to(child->pid, child->control, service_);
  signal(SIGUSR1);
}

void Children::ask_to_end(const Service& service, Child& child) {
  child.asked_to_end_at = steady_clock::now();
  ::kill(child.pid, service.quit_signal());
}

void Children::escalate_overdue() {
  for (const auto& child : children_) {
    if (!child->asked_to_end_at) continue;
    const auto waited = steady_clock::now() - *child->asked_to_end_at;
    if (waited < dependencies_.master_state->process_control_timeout) continue;
    base::log(LogLevel::kWarning,
              "[{}] child {} did not exit within process_control_timeout and is killed",
              service_.name, child->pid);
    ::kill(child->pid, SIGKILL);
  }
}

}  // namespace quarry::master
