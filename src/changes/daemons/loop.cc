#include "loop.h"

#include <fmt/core.h>
#include <poll.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <csignal>
#include <thread>
#include <utility>

#include "quarry/base/log.h"

namespace quarry::changes {
namespace {

/// Time limit for interrupted jobs to stop. The master kills its children after 5 seconds.
constexpr std::chrono::milliseconds kInterruptionTime{3'000};
/// After startup, a daemon waits at most this long for the previous daemon to hand over its queues.
constexpr std::chrono::seconds kHandOverTime{10};
constexpr std::chrono::milliseconds kHandOverPause{20};
constexpr int kMaxFailedSearches = 20;  // consecutive failed searches before an error is logged
constexpr std::array<std::string_view, kTriggers> kPidFiles = {"prequeue.pid", "queue.pid",
                                                               "exec.pid"};

sigset_t stop_signals() {
  sigset_t signals;
  ::sigemptyset(&signals);
  for (const int signal : {SIGTERM, SIGINT, SIGQUIT}) ::sigaddset(&signals, signal);
  return signals;
}

/// Returns whether one of the blocked stop_signals() has arrived.
bool is_stop_pending() {
  sigset_t pending;
  const sigset_t signals = stop_signals();
  return ::sigpending(&pending) == 0 && ::sigandset(&pending, &pending, &signals) == 0 &&
         ::sigisemptyset(&pending) == 0;
}

}  // namespace

Result<PidFile> PidFile::take(const Directories& directories, Trigger kind) {
  const auto path = directories.control(kPidFiles[static_cast<std::size_t>(kind)]);
  base::FileSystem& files = directories.files();
  while (true) {
    QUARRY_TRY_ASSIGN(auto file, files.open(path, base::FileUse::kOpenOrMake));
    QUARRY_TRY_ASSIGN(const bool is_locked, file->try_lock());
    if (!is_locked) {
      return fail(ErrorCode::kBusy, path.string() + ": another daemon serves this queue");
    }
    // Try again if the previous daemon has removed the file in the meantime.
    QUARRY_TRY_ASSIGN(const bool has_name, file->has_name());
    if (!has_name) continue;
    QUARRY_TRY(file->truncate(0));
    // Ignore a full disk: only the lock is needed, not the number in the file.
    const auto written = file->append(fmt::format("{}\n", ::getpid()));
    if (!written && written.error().code != ErrorCode::kNoSpace)
      return std::unexpected(written.error());
    if (!written) base::log(base::LogLevel::kWarning, "{}", written.error().message);
    return PidFile(path, std::move(file));
  }
}

void PidFile::remove() {
  if (is_there()) ::unlink(path_.c_str());
  release();
}

DaemonContext Loop::context_of(ManagedQueue& managed) const {
  return {.options = managed.options,
          .directories = *managed.directories,
          .clock = base::system_clock(),
          .report = options_.report};
}

void Loop::leave_daemon() {
  for (const auto& managed : queues_) {
    managed->pid_file.release();
    managed->worker->leave_daemon();
  }
  signals_.reset();
}

Result<void> Loop::take(const QueueOptions& queue) {
  auto directories = std::make_unique<Directories>(base::FileSystem::real(), queue.base);
  QUARRY_TRY(directories->make());
  auto taken = PidFile::take(*directories, kind_);
  while (!taken && taken.error().code == ErrorCode::kBusy &&
         std::chrono::steady_clock::now() < start_ + kHandOverTime && !is_stop_pending()) {
    std::this_thread::sleep_for(kHandOverPause);
    taken = PidFile::take(*directories, kind_);
  }
  QUARRY_TRY_ASSIGN(auto pid_file, std::move(taken));
  const auto ctrl = queue.base / "ctrl";
  for (std::size_t i = 0; i < kTriggers; ++i) {
    QUARRY_TRY(make_trigger(ctrl, static_cast<Trigger>(i)));
  }
  QUARRY_TRY_ASSIGN(auto fifo, listen(ctrl, kind_));
  auto managed = std::make_unique<ManagedQueue>(ManagedQueue{.options = queue,
                                                             .directories = std::move(directories),
                                                             .pid_file = std::move(pid_file),
                                                             .fifo = std::move(fifo),
                                                             .checker = nullptr,
                                                             .worker = nullptr,
                                                             .is_woken = true,
                                                             .missed = 0,
                                                             .last = std::nullopt});
  make_worker_(*managed);
  QUARRY_TRY(managed->worker->begin());
  queues_.push_back(std::move(managed));
  return {};
}

Result<void> Loop::begin() {
  const sigset_t signals = stop_signals();
  ::sigprocmask(SIG_BLOCK, &signals, nullptr);
  if (!options_.find_queues) {
    for (const QueueOptions& queue : options_.queues) QUARRY_TRY(take(queue));
  }
  signals_.reset(::signalfd(-1, &signals, SFD_CLOEXEC | SFD_NONBLOCK));
  return signals_ ? Result<void>() : fail_errno("cannot create a descriptor for signals");
}

/// Starts serving new queues, and stops serving missing queues.
void Loop::search_for_queues() {
  const base::UnixMillis begin = base::system_clock().now();
  if (!options_.find_queues || is_finishing_ || begin < next_search_) return;
  const FoundQueues found = options_.find_queues();
  // Open the new queues immediately after the search, because opening a queue creates its folders.
  // If the daemon waited, it could restore a queue that was removed in the meantime.
  take_new(found.queues);
  if (found.is_complete) {
    finish_missing(found.queues);
    failed_searches_ = 0;
  } else if (++failed_searches_ == kMaxFailedSearches) {
    base::log(base::LogLevel::kError,
              "cannot search the whole repository folder for new queues; known queues are still "
              "served");
  }
  // Spend at most a twentieth of the time on searches, even if they are slow.
  const base::UnixMillis end = base::system_clock().now();
  next_search_ = {end.value +
                  std::max(options_.search_interval.count(), 19 * (end.value - begin.value))};
}

/// Stops serving queues that two successive searches do not find. A single search is not
/// sufficient, because it can miss a file that is being replaced.
void Loop::finish_missing(const std::vector<QueueOptions>& queues) {
  constexpr int kGone = 2;
  for (const auto& managed : queues_) {
    const bool is_listed = std::ranges::any_of(queues, [&](const QueueOptions& queue) {
      return queue.base == managed->options.base && queue.repository == managed->options.repository;
    });
    managed->missed = is_listed ? 0 : managed->missed + 1;
    if (!managed->last && (managed->missed >= kGone || !managed->pid_file.is_there()))
      finish(*managed);
  }
}

/// Starts serving new queues. Skips a queue that cannot be opened, and tries to open it again after
/// the next search.
void Loop::take_new(const std::vector<QueueOptions>& queues) {
  for (const QueueOptions& queue : queues) {
    const bool is_ours = std::ranges::any_of(
        queues_, [&](const auto& managed) { return managed->options.base == queue.base; });
    if (is_ours) continue;
    const auto type = base::type_of_file(queue.base);
    if (type && *type == std::filesystem::file_type::not_found) continue;
    const auto taken = take(queue);
    if (taken) {
      errors_.erase(queue.base);
    } else if (std::string& last = errors_[queue.base]; last != taken.error().message) {
      last = taken.error().message;
      base::log(base::LogLevel::kError, "{}: {}", queue.base.string(), last);
    }
  }
  std::erase_if(errors_, [&](const auto& each) {
    return std::ranges::find(queues, each.first, &QueueOptions::base) == queues.end();
  });
}

void Loop::finish(ManagedQueue& managed) {
  managed.last = {base::system_clock().now().value + managed.options.patience.count()};
  managed.worker->finish();
}

/// Removes missing queues after their running jobs have finished.
void Loop::remove_finished() {
  const base::UnixMillis now = base::system_clock().now();
  std::erase_if(queues_, [&](const auto& managed) {
    return managed->last && (managed->worker->is_idle() || now >= *managed->last);
  });
}

/// Runs the workers of all queues if IS_TIME is set. Otherwise, runs the workers of queues that
/// were woken or are due.
void Loop::work(bool is_time) {
  const base::UnixMillis now = base::system_clock().now();
  if (is_time) next_scan_ = {now.value + options_.scan_interval.count()};
  for (const auto& managed : queues_) {
    const auto due = managed->worker->next_time();
    if (!is_time && !managed->is_woken && !(due && *due <= now)) continue;
    managed->is_woken = false;
    drain(managed->fifo);
    const auto done = managed->worker->run(is_time ? Scan::kAll : Scan::kNew);
    // Ignore errors of a missing queue whose folder no longer exists.
    if (done || (managed->last && !managed->pid_file.is_there())) continue;
    base::log(base::LogLevel::kError, "{}: {}", managed->options.base.string(),
              done.error().message);
  }
}

/// Waits for an event or a timer. Returns the signal that was received, or 0.
int Loop::wait() {
  std::vector<pollfd> polls = {{.fd = signals_.get(), .events = POLLIN, .revents = 0}};
  std::vector<ManagedQueue*> owners = {nullptr};
  for (const auto& managed : queues_) {
    std::vector<int> descriptors = managed->worker->descriptors();
    descriptors.push_back(managed->fifo.get());
    for (const int descriptor : descriptors) {
      polls.push_back({.fd = descriptor, .events = POLLIN, .revents = 0});
      owners.push_back(managed.get());
    }
  }
  const base::UnixMillis now = base::system_clock().now();
  base::UnixMillis until = next_scan_;
  if (options_.find_queues && !is_finishing_) until = std::min(until, next_search_);
  if (const auto next = next_time()) until = std::min(until, *next);
  const auto millis = std::clamp<std::int64_t>(until.value - now.value, 0, 60'000);
  ::poll(polls.data(), polls.size(), static_cast<int>(millis));
  for (std::size_t i = 1; i < polls.size(); ++i) {
    if (polls[i].revents != 0) owners[i]->is_woken = true;
  }
  signalfd_siginfo signal{};
  const ssize_t count = ::read(signals_.get(), &signal, sizeof signal);
  return count == sizeof signal ? static_cast<int>(signal.ssi_signo) : 0;
}

bool Loop::is_idle() const {
  return std::ranges::all_of(queues_,
                             [](const auto& managed) { return managed->worker->is_idle(); });
}

std::optional<base::UnixMillis> Loop::next_time() const {
  std::optional<base::UnixMillis> next;
  for (const auto& managed : queues_) {
    const auto time = managed->worker->next_time();
    if (time && (!next || *time < *next)) next = time;
  }
  return next;
}

/// Begins to stop after SIGNAL. SIGQUIT lets running jobs finish and hands over the queues to the
/// next daemon. All other signals interrupt the jobs. Returns the time limit for the jobs, or
/// nullopt if the time is not limited.
std::optional<std::chrono::milliseconds> Loop::stop(int signal) {
  is_finishing_ = true;
  for (const auto& managed : queues_) {
    managed->worker->finish();
    if (signal == SIGQUIT) {
      managed->pid_file.remove();
    } else {
      managed->worker->interrupt();
    }
  }
  return signal == SIGQUIT ? std::nullopt : std::optional(kInterruptionTime);
}

Result<void> Loop::run() {
  QUARRY_TRY(begin());
  std::optional<base::UnixMillis> last;  // deadline for running jobs
  bool is_time = true;
  while (true) {
    search_for_queues();
    work(is_time);
    remove_finished();
    if ((options_.is_once || is_finishing_) && is_idle()) return {};
    if (last && base::system_clock().now() >= *last) return {};
    const int signal = wait();
    is_time = base::system_clock().now() >= next_scan_;
    if (signal == 0) continue;
    if (const auto time_limit = stop(signal)) {
      last = {base::system_clock().now().value + time_limit->count()};
      next_scan_ = {std::min(next_scan_.value, last->value)};
    }
  }
}

}  // namespace quarry::changes
