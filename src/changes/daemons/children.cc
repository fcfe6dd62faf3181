#include "children.h"

#include <fmt/core.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <exception>
#include <iterator>
#include <utility>

#include "quarry/base/log.h"
#include "quarry/base/number.h"
#include "quarry/base/spawn.h"
#include "sections.h"

namespace quarry::changes {
namespace {

constexpr std::size_t kMaxLine = 8'192;

}  // namespace

std::string line_of(const Outcome& outcome) {
  std::string why = outcome.why.substr(0, kMaxWhy);
  std::ranges::replace(why, '\n', ' ');
  return fmt::format("{} {} {}\n", static_cast<int>(outcome.verdict),
                     outcome.landed ? outcome.landed->str() : "-", why);
}

std::optional<Outcome> outcome_of_line(std::string_view line) {
  const auto number = base::take_number<int>(line);
  if (!number) return std::nullopt;
  Outcome outcome{.verdict = static_cast<Verdict>(*number), .why = {}, .landed = {}};
  switch (outcome.verdict) {
    case Verdict::kLanded:
    case Verdict::kSkipped:
    case Verdict::kFailed:
    case Verdict::kDeferred:
    case Verdict::kNoRoom:
    case Verdict::kTerminated:
    case Verdict::kAbandoned:
    case Verdict::kInterrupted:
    case Verdict::kGaveWay:
      break;
    default:
      return std::nullopt;
  }
  if (!line.starts_with(' ')) return std::nullopt;
  line.remove_prefix(1);
  const std::size_t space = line.find(' ');
  if (space == line.npos) return std::nullopt;
  outcome.landed = artifact::HashName::parse(line.substr(0, space));
  outcome.why = line.substr(space + 1);
  return outcome;
}

Children::~Children() {
  for (Child& child : children_) {
    child.socket.reset();
    // A child that is executing a job is killed. The job remains in run/, and the next daemon
    // handles it. An idle child exits because its socket was closed.
    if (!child.names.empty()) ::kill(child.pid, SIGKILL);
  }
  for (const Child& child : children_) reap(child);
}

void Children::close_all() {
  for (Child& child : children_) child.socket.reset();
  children_.clear();
}

std::size_t Children::busy() const {
  return static_cast<std::size_t>(
      std::ranges::count_if(children_, [](const Child& child) { return !child.names.empty(); }));
}

bool Children::Child::has(const ChangeSetId& id) const {
  return std::ranges::any_of(names, [&](const ChangeSetName& name) { return name.id == id; });
}

/// Sends LINE to the child. If the child has exited, the daemon detects this when it reads the
/// child's answer.
void Children::Child::send(std::string_view line) const {
  const std::string text = fmt::format("{}\n", line);
  [[maybe_unused]] const auto sent = ::send(socket.get(), text.data(), text.size(), MSG_NOSIGNAL);
}

void Children::Child::end_turn() {
  has_turn = false;
  waits_since.reset();
}

bool Children::is_busy_with(const ChangeSetId& id) const {
  return std::ranges::any_of(children_, [&](const Child& child) { return child.has(id); });
}

Result<void> Children::make_idle_one() {
  if (busy() < children_.size()) return {};
  std::array<int, 2> ends{};
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, ends.data()) != 0) {
    return fail_errno("cannot create a socket pair for a child");
  }
  base::Fd ours(ends[0]), its(ends[1]);
  const pid_t daemon = ::getpid();
  const pid_t pid = ::fork();
  if (pid < 0) return fail_errno("cannot fork a child");
  if (pid == 0) {
    ours.reset();
    close_all();
    try {
      live_(std::move(its), daemon);
    } catch (const std::exception& error) {
      base::log(base::LogLevel::kError, "{}", error.what());
      ::_exit(static_cast<int>(Verdict::kFailed));
    }
    ::_exit(0);
  }
  children_.push_back({.pid = pid,
                       .socket = std::move(ours),
                       .names = {},
                       .branch = {},
                       .urgency = MoveType::kDevelopment,
                       .has_turn = false,
                       .gives_way = false,
                       .waits_since = {},
                       .received = {}});
  return {};
}

Result<void> Children::give(std::vector<ChangeSetName> names, std::string branch,
                            MoveType urgency) {
  for (Child& child : children_) {
    if (!child.names.empty()) continue;
    child.urgency = urgency;
    child.gives_way = false;
    std::string line = child.is_rollback() ? "rollback" : "land";
    for (const ChangeSetName& name : names) line += " " + name.text();
    child.send(line);
    child.names.assign(std::make_move_iterator(names.begin()),
                       std::make_move_iterator(names.end()));
    child.branch = std::move(branch);
    return {};
  }
  return fail(ErrorCode::kBusy, "no child is idle");
}

void Children::give_turns(const std::function<bool(const std::string& branch)>& is_free) {
  std::vector<Child*> waiting;
  for (Child& child : children_) {
    if (child.waits_since) waiting.push_back(&child);
  }
  std::ranges::sort(waiting, {}, [](const Child* child) {
    return std::pair(child->urgency, *child->waits_since);
  });
  for (Child* child : waiting) {
    const bool is_taken = std::ranges::any_of(children_, [&](const Child& other) {
      return other.has_turn && other.branch == child->branch;
    });
    if (is_taken || !is_free(child->branch)) continue;
    child->has_turn = true;
    child->waits_since.reset();
    child->send(kTurn);
  }
}

void Children::make_way(MoveType urgency, const std::optional<ChangeSetId>& id) {
  for (Child& child : children_) {
    if (child.names.size() < 2 || child.urgency <= urgency || (id && !child.has(*id))) continue;
    if (!std::exchange(child.gives_way, true)) child.send(kGiveWay);
  }
}

void Children::kill(const ChangeSetId& id) const {
  for (const Child& child : children_) {
    if (child.has(id)) ::kill(child.pid, SIGKILL);
  }
}

void Children::stop(const ChangeSetId& id, int signal, std::string_view why) const {
  for (const Child& child : children_) {
    if (!child.has(id)) continue;
    child.send(fmt::format("stop {} {}", id.str(), one_line(why, kMaxWhy)));
    ::kill(child.pid, signal);
  }
}

void Children::interrupt() const {
  for (const Child& child : children_) {
    if (!child.names.empty()) ::kill(child.pid, SIGUSR1);
  }
}

std::vector<int> Children::descriptors() const {
  std::vector<int> descriptors;
  for (const Child& child : children_) descriptors.push_back(child.socket.get());
  return descriptors;
}

std::string Children::reap(const Child& child) {
  const int status = base::wait_for_end(child.pid).value_or(0);
  if (WIFSIGNALED(status))
    return fmt::format("its process was killed by signal {}", WTERMSIG(status));
  return fmt::format("its process exited with code {} without a verdict", WEXITSTATUS(status));
}

/// Parses LINE, an answer for the first of CHILD's jobs.
Answer Children::answer_of(Child& child, std::string_view line) {
  Answer answer{.name = child.names.front(),
                .has_begun = false,
                .is_rollback = child.is_rollback(),
                .outcome = outcome_of_line(line),
                .how = {}};
  child.names.pop_front();
  if (child.names.empty()) child.end_turn();
  if (!answer.outcome) answer.how = "its process sent an invalid reply";
  return answer;
}

void Children::take_line(Child& child, std::string_view line, std::vector<Answer>& answers) {
  if (child.names.empty()) return;
  if (line == kTurn) {
    child.waits_since = std::chrono::steady_clock::now();
    return;
  }
  if (line == kTurnOver) return child.end_turn();
  if (!line.starts_with(kBegun)) return answers.push_back(answer_of(child, line));
  const auto id = ChangeSetId::parse(line.substr(kBegun.size()));
  for (const ChangeSetName& name : child.names) {
    if (name.id != id) continue;
    answers.push_back(
        {.name = name, .has_begun = true, .is_rollback = false, .outcome = {}, .how = {}});
  }
}

void Children::take_lines(Child& child, std::vector<Answer>& answers) {
  for (std::size_t end = child.received.find('\n'); end != std::string::npos;
       end = child.received.find('\n')) {
    take_line(child, std::string_view(child.received).substr(0, end), answers);
    child.received.erase(0, end + 1);
  }
}

/// Adds answers for the jobs of CHILD, which has exited or is being killed.
void Children::report_death(Child& child, std::vector<Answer>& answers) {
  if (child.received.size() >= kMaxLine) ::kill(child.pid, SIGKILL);
  const std::string how = reap(child);
  for (ChangeSetName& name : child.names) {
    answers.push_back({.name = std::move(name),
                       .has_begun = false,
                       .is_rollback = child.is_rollback(),
                       .outcome = {},
                       .how = how});
  }
}

std::vector<Answer> Children::take_answers() {
  std::vector<Answer> answers;
  for (auto child = children_.begin(); child != children_.end();) {
    std::array<char, 1024> bytes{};
    ssize_t count = 0;
    while (child->received.size() < kMaxLine &&
           (count = ::recv(child->socket.get(), bytes.data(), bytes.size(), 0)) > 0) {
      child->received.append(bytes.data(), static_cast<std::size_t>(count));
      take_lines(*child, answers);
    }
    const bool is_dead = count == 0 || (count < 0 && errno != EAGAIN && errno != EINTR) ||
                         child->received.size() >= kMaxLine;
    if (!is_dead) {
      ++child;
      continue;
    }
    report_death(*child, answers);
    child = children_.erase(child);
  }
  return answers;
}

}  // namespace quarry::changes
