// quarry backoffice: runs a repository's background jobs, once or repeatedly (--poll). Each
// repository is handled in a separate process, so that a failure does not affect the others. The
// server starts this command with additional options.
#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <limits>
#include <map>
#include <memory>
#include <optional>
#include <system_error>

#include "commands.h"
#include "common/apart.h"
#include "common/exit_codes.h"
#include "common/interruption.h"
#include "common/owner.h"
#include "mail_retry.h"
#include "quarry/backoffice/jobs.h"
#include "quarry/backoffice/turn.h"
#include "quarry/base/fd.h"
#include "quarry/base/time.h"
#include "quarry/control/channel.h"
#include "quarry/control/publication.h"
#include "quarry/repository/replica_tables.h"
#include "quarry/repository/repository.h"
#include "quarry/repository/repository_folder.h"
#include "quarry/repository/repository_name.h"

namespace quarry::app {
namespace {

namespace fs = std::filesystem;
using backoffice::Turn;
using std::chrono::milliseconds;
using std::chrono::steady_clock;

bool is_interrupted() {
  return Interruption::signal() != 0;
}

/// Waits until TIME has passed or a signal arrives. If WANTS_ANSWER, the master's answer also ends
/// the wait. Returns whether the run should continue.
bool sleep_for(milliseconds time, const control::Channel& master, bool wants_answer) {
  const auto end = steady_clock::now() + time;
  while (!is_interrupted()) {
    const auto left = std::chrono::ceil<milliseconds>(end - steady_clock::now());
    if (left.count() <= 0) return true;
    pollfd answer{master.fd(), POLLIN, 0};
    // A signal that arrives just before poll() does not interrupt poll(). So wait in short steps,
    // and check for signals in between.
    const auto step = std::min(left, milliseconds(1000));
    if (::poll(&answer, 1, static_cast<int>(step.count())) <= 0) continue;
    control::Message message{};
    const auto received = master.receive(&message);
    if (received == control::Received::kClosed) return !wants_answer;
    if (wants_answer && received == control::Received::kMessage) return true;
  }
  return false;
}

// Timeout for sending events to the courier. The courier answers after it has written the events to
// disk.
constexpr std::chrono::seconds kCourierTimeout{20};
constexpr std::chrono::seconds kReplicaTimeout{10};
// Delay in seconds before the server resends events that the courier has not accepted.
constexpr std::uint16_t kEventsRetryDelay = 5;

/// Returns the name of the repository PATH on the server.
std::string served_name(const BackofficeArguments& arguments, const std::filesystem::path& path) {
  if (!arguments.served_name.empty()) return arguments.served_name;
  if (!arguments.is_folder) return path.stem().string();
  return path.lexically_relative(arguments.files.front()).replace_extension().string();
}

/// Returns the options for sending events to the courier that listens on SOCKET.
backoffice::PublishOptions publish_options(const BackofficeArguments& arguments,
                                           const repository::Repository& repository,
                                           const std::string& socket) {
  return {.courier = std::make_shared<spool::HandOver>(socket, kCourierTimeout, is_interrupted),
          .name = served_name(arguments, repository.path()),
          .path = std::filesystem::absolute(repository.path()).string()};
}

/// Returns the jobs that send events and hooks. They do not need the lease.
std::vector<backoffice::Job> event_jobs(const BackofficeArguments& arguments,
                                        const repository::Repository& repository) {
  std::vector<backoffice::Job> jobs;
  if (!arguments.courier.empty()) {
    auto options = publish_options(arguments, repository, arguments.courier);
    if (!arguments.webhooks.empty()) {
      options.webhooks =
          std::make_shared<spool::HandOver>(arguments.webhooks, kCourierTimeout, is_interrupted);
    }
    jobs.push_back(backoffice::publish_events(options));
    jobs.push_back(backoffice::publish_security_events(options));
  }
  if (!arguments.hooks.empty()) {
    jobs.push_back(
        backoffice::after_receive_hooks(publish_options(arguments, repository, arguments.hooks)));
  }
  return jobs;
}

/// Returns AlertOptions::claim_day for REPOSITORY, which must outlive it.
std::function<Result<bool>(std::int64_t)> claim_day(const BackofficeArguments& arguments,
                                                    repository::Repository& repository) {
  if (arguments.replica.empty()) return {};
  const bool is_in_folder = arguments.is_folder || !arguments.served_name.empty();
  const std::string name = is_in_folder ? served_name(arguments, repository.path()) : "";
  return [publication = control::Publication(arguments.replica, kReplicaTimeout), name,
          pool = arguments.pool, &repository](std::int64_t day) -> Result<bool> {
    std::string host;
    {
      QUARRY_TRY_ASSIGN(const auto snapshot, repository.snapshot());
      repository::ReplicaTables tables(repository);
      QUARRY_TRY_ASSIGN(const bool exist, tables.exist());
      if (!exist) return fail(ErrorCode::kBusy, "quarry-replica has not opened the repository yet");
      QUARRY_TRY_ASSIGN(host, tables.host());
    }
    // The host's name is the value, so a run that was killed can be repeated.
    const auto winner = publication.claim(pool, name, fmt::format("digest.{}", day), host,
                                          control::ClaimWhen::kCurrent);
    if (winner) return *winner == host;
    fmt::print(stderr, "{}: the daily digest waits: {}\n", repository.path().string(),
               winner.error().message);
    return false;
  };
}

std::vector<backoffice::Job> jobs_for(const BackofficeArguments& arguments,
                                      repository::Repository& repository) {
  auto jobs = event_jobs(arguments, repository);
  jobs.push_back(backoffice::mail(arguments.mail_methods, claim_day(arguments, repository)));
  jobs.push_back(backoffice::maintenance());
  if (arguments.compacts) {
    jobs.push_back(backoffice::compaction(is_interrupted));
  }
  return jobs;
}

/// Reports the failures in REPOSITORY on standard error, and to the courier if a courier is
/// configured.
void report_failures(const BackofficeArguments& arguments, repository::Repository& repository,
                     const backoffice::RunReport& report) {
  if (report.failures.empty()) return;
  // Skip the first failure, which result_of() returns as the error of the command.
  for (std::size_t i = 1; i < report.failures.size(); ++i) {
    fmt::print(stderr, "{}: {}: {}\n", repository.path().string(), report.failures[i].job,
               report.failures[i].error.message);
  }
  if (arguments.courier.empty() || is_interrupted()) return;
  const auto published = backoffice::publish_failures(
      repository, publish_options(arguments, repository, arguments.courier), report.failures);
  if (!published) fmt::print(stderr, "{}\n", published.error().message);
}

/// A run of a repository's background work. The jobs start when this process gets the lease. Events
/// are sent to the courier even if this process has to wait for the lease or does not get it.
class BackofficeRun {
 public:
  /// Creates a run. MASTER is closed if a server did not start this process. ARGUMENTS and MASTER
  /// must outlive the run.
  BackofficeRun(const BackofficeArguments& arguments, const control::Channel& master)
      : arguments_(arguments), master_(master) {}

  /// Runs the jobs for FILE as soon as this process has the lease. Only sends events if another
  /// process does the work, or if a signal interrupts the wait for the lease. Errors: the file
  /// cannot be opened or written, or the error of the first job that failed.
  Result<void> run(const std::filesystem::path& file) {
    if (arguments_.is_automatic) {
      QUARRY_TRY_ASSIGN(repository_, repository::Repository::open(file));
      QUARRY_TRY_ASSIGN(const auto snapshot, repository_->snapshot());
      if (repository_->settings().get_bool(backoffice::kDisableSetting, false)) return {};
    }
    if (arguments_.only_events) {
      QUARRY_TRY(open(file));
      return publish(*repository_);
    }
    QUARRY_TRY_ASSIGN(const Turn turn, wait_for_turn(file));
    Result<void> done;
    if (turn == Turn::kRun) {
      done = work(*repository_);
    } else {
      trace(fmt::format("{}: another process holds the lease", file.string()));
    }
    if (repository_)
      request_retry(arguments_, *repository_, served_name(arguments_, file), master_);
    return done;
  }

 private:
  void trace(const std::string& message) const {
    if (arguments_.trace) fmt::print(stderr, "backoffice {}: {}\n", ::getpid(), message);
  }

  Result<void> open(const std::filesystem::path& file) {
    if (repository_) return {};
    QUARRY_TRY_ASSIGN(repository_, repository::Repository::open(file));
    return {};
  }

  /// Sleeps until the lease might be free. During the sleep, the repository is closed, and the
  /// process does not occupy a slot of the master.
  bool pause(std::chrono::seconds time) const {
    trace(fmt::format("sleeping for {} s", time.count()));
    if (master_.fd() < 0) return sleep_for(time, master_, false);
    constexpr std::chrono::hours kForEver{24 * 365};
    master_.send({control::Verb::kPause});
    if (!sleep_for(time, master_, false)) return false;
    master_.send({control::Verb::kResume});
    return sleep_for(kForEver, master_, true);
  }

  Result<Turn> wait_for_turn(const std::filesystem::path& file) {
    const backoffice::TurnOptions options{
        .lease_time = std::chrono::seconds(std::max<std::int64_t>(arguments_.lease_time, 1)),
        .may_wait = !arguments_.no_delay};
    for (;;) {
      QUARRY_TRY(open(file));
      if (arguments_.no_lease) return Turn::kRun;
      QUARRY_TRY_ASSIGN(const auto decision,
                        backoffice::take_turn(*repository_, ::getpid(), options));
      if (decision.turn == Turn::kRun) return decision.turn;
      const auto published = publish(*repository_);
      if (decision.turn == Turn::kLeave) {
        QUARRY_TRY(published);
        return decision.turn;
      }
      if (!published) fmt::print(stderr, "{}\n", published.error().message);
      repository_.reset();
      if (!pause(decision.sleep)) return Turn::kLeave;
    }
  }

  Result<void> work(repository::Repository& repository) {
    trace(fmt::format("{}: started", repository.path().string()));
    const auto begin = steady_clock::now();
    const auto jobs = jobs_for(arguments_, repository);
    const backoffice::RunReport report = backoffice::run_jobs(repository, jobs, is_interrupted);
    const auto took = std::chrono::duration<double, std::milli>(steady_clock::now() - begin);
    trace(fmt::format("{}: done after {:.1f} ms", repository.path().string(), took.count()));
    note(repository, report);
    return result_of(repository, report);
  }

  Result<void> publish(repository::Repository& repository) const {
    const auto jobs = event_jobs(arguments_, repository);
    return result_of(repository, backoffice::run_jobs(repository, jobs, is_interrupted));
  }

  /// Returns whether REPORT contains events that were not sent, but can be sent later.
  bool has_unsent_events(const repository::Repository& repository,
                         const backoffice::RunReport& report) const {
    const auto jobs = event_jobs(arguments_, repository);
    return std::ranges::any_of(report.failures, [&](const backoffice::Failure& failure) {
      using enum ErrorCode;
      const auto code = failure.error.code;
      return (code == kIo || code == kBusy || code == kNotFound || code == kNoSpace) &&
             std::ranges::find(jobs, failure.job, &backoffice::Job::name) != jobs.end();
    });
  }

  /// Reports the failures in REPORT, and returns the first one as an error. If events were not
  /// sent, requests another run that only sends events. The next run of all jobs might be too late,
  /// because it might have to wait for the lease.
  Result<void> result_of(repository::Repository& repository,
                         const backoffice::RunReport& report) const {
    report_failures(arguments_, repository, report);
    if (report.failures.empty()) return {};
    if (master_.fd() >= 0 && has_unsent_events(repository, report)) {
      const std::uint32_t number = arguments_.number.value_or(repository::number_of(""));
      master_.send({control::Verb::kEvents, number, kEventsRetryDelay});
    }
    const backoffice::Failure& first = report.failures.front();
    return fail(first.error.code, "{}: {}: {}", repository.path().string(), first.job,
                first.error.message);
  }

  /// Appends a line to the log file.
  void note(repository::Repository& repository, const backoffice::RunReport& report) const {
    const std::string& path = arguments_.log_file;
    if (path.empty()) {
      if (repository.settings().get("backoffice-logfile")) {
        fmt::print(stderr,
                   "{}: the backoffice-logfile setting is ignored; use backoffice.log or "
                   "--logfile\n",
                   repository.path().string());
      }
      return;
    }
    std::string what;
    for (const auto& [job, count] : report.done) what += fmt::format(", {}: {}", job, count);
    for (const auto& failure : report.failures) what += fmt::format(", {} failed", failure.job);
    const std::string line = fmt::format("{}Z backoffice {} ran on {}{}\n",
                                         base::iso_seconds(base::system_clock().now()), ::getpid(),
                                         repository.path().string(), what);
    const base::Fd file(::open(path.c_str(), O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0640));
    if (!file || ::write(file.get(), line.data(), line.size()) < 0) {
      fmt::print(stderr, "{}\n", fail_errno("cannot write to {}", path).error().message);
    }
  }

  const BackofficeArguments& arguments_;
  const control::Channel& master_;
  std::unique_ptr<repository::Repository> repository_;
};

/// Returns the served repositories in FOLDER. If NUMBER is set, returns only those whose
/// repository::number_of() is NUMBER.
std::vector<fs::path> repositories_in(const fs::path& folder, std::optional<std::uint32_t> number) {
  std::vector<fs::path> found;
  for (const auto& name : repository::names_below(folder, std::numeric_limits<std::size_t>::max(),
                                                  repository::FolderLinks::kFollow)
                              .names) {
    if (number && repository::number_of(name.str()) != *number) continue;
    if (const auto located = repository::locate(folder, name)) found.push_back(located->path);
  }
  std::ranges::sort(found);
  return found;
}

/// Returns the sizes and modification times of the repository file and its write-ahead log. The
/// result changes with every commit.
std::string state_of(const std::string& path) {
  std::string state;
  for (const char* suffix : {"", "-wal"}) {
    struct stat status {};
    if (::stat((path + suffix).c_str(), &status) != 0) continue;
    state +=
        fmt::format("{} {}.{} ", status.st_size, status.st_mtim.tv_sec, status.st_mtim.tv_nsec);
  }
  return state;
}

/// Runs this program for FILE in a separate process and returns its exit code.
int run_for_file(const BackofficeArguments& arguments, const std::string& file) {
  std::vector<std::string> words{"backoffice", arguments.is_automatic ? "--nodelay" : "--nolease"};
  if (!arguments.log_file.empty()) {
    words.insert(words.end(), {"--logfile", arguments.log_file});
  }
  if (!arguments.courier.empty()) words.insert(words.end(), {"--courier", arguments.courier});
  if (!arguments.hooks.empty()) words.insert(words.end(), {"--hooks", arguments.hooks});
  if (!arguments.webhooks.empty()) words.insert(words.end(), {"--webhooks", arguments.webhooks});
  if (!arguments.replica.empty()) {
    words.insert(words.end(), {"--replica", arguments.replica, "--pool", arguments.pool});
  }
  if (arguments.is_automatic) {
    words.insert(words.end(),
                 {"--automatic", "--lease-time", std::to_string(arguments.lease_time)});
  }
  if (!arguments.mail_methods.empty()) {
    words.push_back("--mail-methods");
    words.push_back(fmt::format("{}", fmt::join(arguments.mail_methods, ",")));
  }
  if (arguments.is_folder) {
    words.insert(words.end(), {"--served-name", served_name(arguments, file)});
  }
  if (arguments.only_events) words.push_back("--events");
  if (arguments.trace) words.push_back("--trace");
  if (arguments.compacts) words.push_back("--compact");
  words.insert(words.end(), {"--", file});
  const int code = run_apart(words, file);
  // A signal to this process also interrupts the other process, so an error code is not a failure.
  return is_interrupted() ? kDone : code;
}

int run_each(const BackofficeArguments& arguments, const std::vector<std::string>& files) {
  int code = kDone;
  for (const std::string& file : files) {
    if (is_interrupted()) break;
    code = std::max(code, run_for_file(arguments, file));
  }
  return code;
}

int poll(const BackofficeArguments& arguments, const control::Channel& master) {
  struct Seen {
    std::string state;
    steady_clock::time_point ran;
    std::optional<steady_clock::time_point> retry = {};
  };
  std::map<std::string, Seen> seen;
  while (!is_interrupted()) {
    for (const std::string& file : arguments.files) {
      Seen& last = seen[file];
      const auto now = steady_clock::now();
      const bool is_due =
          (arguments.min > 0 && now - last.ran >= std::chrono::seconds(arguments.min)) ||
          (last.retry && now >= *last.retry);
      // Read the state before the run, so that commits during the run cause another run. The run's
      // own commits also cause another run, but that run does not find any work and does not write.
      const std::string state = state_of(file);
      if (last.ran != steady_clock::time_point() && !is_due && last.state == state) continue;
      run_for_file(arguments, file);
      last = {state, steady_clock::now()};
      const auto repository = repository::Repository::open(file);
      const auto delay = repository ? retry_delay(arguments, **repository) : std::nullopt;
      if (delay) last.retry = last.ran + *delay;
    }
    sleep_for(std::chrono::seconds(arguments.poll), master, false);
  }
  return kDone;
}

/// Runs the jobs for a server: for one repository, or for a folder of repositories. If the server
/// has passed a number, skips the repositories in the folder that have another number.
int run_for_server(const BackofficeArguments& arguments, const control::Channel& master) {
  const std::string& path = arguments.files.front();
  std::vector<fs::path> files{path};
  if (arguments.is_folder) files = repositories_in(path, arguments.number);
  const bool is_apart = arguments.is_folder && !arguments.number;
  int code = kDone;
  for (const fs::path& file : files) {
    if (is_interrupted()) break;
    if (is_apart || arguments.only_requests) {
      if (!arguments.only_requests) code = std::max(code, run_for_file(arguments, file));
      const auto repository = repository::Repository::open(file);
      if (repository) request_retry(arguments, **repository, served_name(arguments, file), master);
      continue;
    }
    if (const auto done = BackofficeRun(arguments, master).run(file); !done) {
      code = failed(done.error());
    }
  }
  return code;
}

}  // namespace

int run_backoffice(const BackofficeArguments& given) {
  const control::Channel master = control::Channel::of_standard_input();
  const Interruption interruption;
  if (given.poll > 0) return poll(given, master);
  if (!given.is_automatic) {
    if (given.files.size() > 1) return run_each(given, given.files);
    const auto owned = act_as_owner_of(given.files.front());
    if (!owned) return failed(owned.error());
  }
  BackofficeArguments arguments = given;
  arguments.mail_methods = allowed_mail_methods(given.mail_methods);
  if (arguments.is_automatic) return run_for_server(arguments, master);
  const auto done = BackofficeRun(arguments, master).run(arguments.files.front());
  return done ? kDone : failed(done.error());
}

}  // namespace quarry::app
