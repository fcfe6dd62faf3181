#include "backoffice_run.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>

#include "common/interruption.h"
#include "quarry/backoffice/jobs.h"
#include "quarry/backoffice/turn.h"
#include "quarry/base/fd.h"
#include "quarry/base/time.h"

namespace quarry::app {
namespace {

using backoffice::Turn;
using std::chrono::milliseconds;
using std::chrono::steady_clock;

bool is_interrupted() {
  return Interruption::signal() != 0;
}

/// Waits for TIME, a signal or, with WANTS_ANSWER, the master's answer. Returns whether the run
/// should go on.
bool sleep_for(milliseconds time, const control::Channel& master, bool wants_answer) {
  const auto end = steady_clock::now() + time;
  while (!is_interrupted()) {
    const auto left = std::chrono::ceil<milliseconds>(end - steady_clock::now());
    if (left.count() <= 0) return true;
    pollfd answer{master.fd(), POLLIN, 0};
    // A signal just before the wait is noticed after a second.
    const auto step = std::min(left, milliseconds(1000));
    if (::poll(&answer, 1, static_cast<int>(step.count())) <= 0) continue;
    control::Message message{};
    const auto received = master.receive(&message);
    // The master has exited, so there will be no answer.
    if (received == control::Received::kClosed) return !wants_answer;
    if (wants_answer && received == control::Received::kMessage) return true;
  }
  return false;
}

// Timeout for handing over events, which waits for the courier's disk.
constexpr std::chrono::seconds kCourierTimeout{20};

/// The name by which the repository in PATH is served.
std::string served_name(const BackofficeArguments& arguments, const std::filesystem::path& path) {
  if (!arguments.is_folder) return path.stem().string();
  return path.lexically_relative(arguments.files.front()).replace_extension().string();
}

backoffice::PublishOptions publish_options(const BackofficeArguments& arguments,
                                           const repository::Repository& repository) {
  return {.courier = std::make_shared<spool::HandOver>(arguments.courier, kCourierTimeout),
          .name = served_name(arguments, repository.path()),
          .path = std::filesystem::absolute(repository.path()).string()};
}

std::vector<backoffice::Job> jobs_for(const BackofficeArguments& arguments,
                                      repository::Repository& repository) {
  std::vector<backoffice::Job> jobs;
  if (!arguments.courier.empty()) {
    const auto options = publish_options(arguments, repository);
    jobs.push_back(backoffice::publish_events(options));
    jobs.push_back(backoffice::publish_security_events(options));
    jobs.push_back(backoffice::after_receive_hooks(options));
  }
  jobs.push_back(backoffice::mail());
  jobs.push_back(backoffice::maintenance());
  if (arguments.compacts) {
    jobs.push_back(backoffice::compaction(is_interrupted));
  }
  return jobs;
}

/// Reports the failures in REPOSITORY on standard error, and to the courier if there is one.
void report_failures(const BackofficeArguments& arguments, repository::Repository& repository,
                     const backoffice::RunReport& report) {
  if (report.failures.empty()) return;
  // The first is the command's own error.
  for (std::size_t i = 1; i < report.failures.size(); ++i) {
    fmt::print(stderr, "{}: {}: {}\n", repository.path().string(), report.failures[i].job,
               report.failures[i].error.message);
  }
  if (arguments.courier.empty()) return;
  const auto published = backoffice::publish_failures(
      repository, publish_options(arguments, repository), report.failures);
  if (!published) fmt::print(stderr, "{}\n", published.error().message);
}

}  // namespace

void BackofficeRun::trace(const std::string& message) const {
  if (arguments_.trace) fmt::print(stderr, "backoffice {}: {}\n", ::getpid(), message);
}

/// Sleeps until the lease may be free, with the repository closed, and without occupying one of the
/// master's slots.
bool BackofficeRun::pause(std::chrono::seconds time) const {
  trace(fmt::format("sleeps for {} s", time.count()));
  if (master_.fd() < 0) return sleep_for(time, master_, false);
  constexpr std::chrono::hours kForEver{24 * 365};
  master_.send({control::Verb::kPause});
  if (!sleep_for(time, master_, false)) return false;
  master_.send({control::Verb::kResume});
  return sleep_for(kForEver, master_, true);
}

base::Result<Turn> BackofficeRun::wait_for_turn(const std::filesystem::path& file) {
  const backoffice::TurnOptions options{
      .lease_time = std::chrono::seconds(std::max<std::int64_t>(arguments_.lease_time, 1)),
      .may_wait = !arguments_.no_delay};
  for (;;) {
    if (!repository_) {
      QUARRY_TRY_ASSIGN(repository_, repository::Repository::open(file));
    }
    if (arguments_.no_lease) return Turn::kRun;
    QUARRY_TRY_ASSIGN(const auto decision,
                      backoffice::take_turn(*repository_, ::getpid(), options));
    if (decision.turn != Turn::kWait) return decision.turn;
    repository_.reset();
    if (!pause(decision.sleep)) return Turn::kLeave;
  }
}

base::Result<void> BackofficeRun::run(const std::filesystem::path& file) {
  if (arguments_.is_automatic) {
    QUARRY_TRY_ASSIGN(repository_, repository::Repository::open(file));
    QUARRY_TRY_ASSIGN(const auto snapshot, repository_->snapshot());
    if (repository_->settings().get_bool(backoffice::kDisableSetting, false)) return {};
  }
  QUARRY_TRY_ASSIGN(const Turn turn, wait_for_turn(file));
  if (turn == Turn::kRun) return work(*repository_);
  trace(fmt::format("{}: another process holds the lease", file.string()));
  return {};
}

base::Result<void> BackofficeRun::work(repository::Repository& repository) {
  trace(fmt::format("{}: begins", repository.path().string()));
  const auto begin = steady_clock::now();
  const auto jobs = jobs_for(arguments_, repository);
  const backoffice::RunReport report = backoffice::run_jobs(repository, jobs, is_interrupted);
  const auto took = std::chrono::duration<double, std::milli>(steady_clock::now() - begin);
  trace(fmt::format("{}: done after {:.1f} ms", repository.path().string(), took.count()));
  note(repository, report);
  report_failures(arguments_, repository, report);
  if (report.failures.empty()) return {};
  const backoffice::Failure& first = report.failures.front();
  return base::fail(first.error.code, fmt::format("{}: {}: {}", repository.path().string(),
                                                  first.job, first.error.message));
}

/// Appends a line to the log file on the command line or in the repository's settings.
void BackofficeRun::note(repository::Repository& repository,
                         const backoffice::RunReport& report) const {
  std::string path = arguments_.log_file;
  if (path.empty()) {
    const auto snapshot = repository.snapshot();
    if (!snapshot) return;
    path = repository.settings().get(backoffice::kLogFileSetting).value_or("");
  }
  if (path.empty()) return;
  std::string what;
  for (const auto& [job, count] : report.done) what += fmt::format(", {}: {}", job, count);
  for (const auto& failure : report.failures) what += fmt::format(", {} failed", failure.job);
  const std::string line =
      fmt::format("{}Z backoffice {} ran on {}{}\n", base::iso_seconds(base::system_clock().now()),
                  ::getpid(), repository.path().string(), what);
  const base::Fd file(::open(path.c_str(), O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0640));
  if (!file || ::write(file.get(), line.data(), line.size()) < 0) {
    fmt::print(stderr, "{}\n",
               base::fail_errno(fmt::format("cannot write to {}", path)).error().message);
  }
}

}  // namespace quarry::app
