#include "loop.h"

#include <fmt/core.h>
#include <poll.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <csignal>
#include <utility>

#include "quarry/base/log.h"

namespace quarry::changes {
namespace {

using base::ErrorCode;
using base::Result;

constexpr std::array<std::string_view, kTriggers> kPidFiles = {"prequeue.pid", "queue.pid",
                                                               "exec.pid"};

}  // namespace

Result<PidFile> PidFile::take(const Directories& directories, Trigger kind) {
  const auto path = directories.control(kPidFiles[static_cast<std::size_t>(kind)]);
  base::FileSystem& files = directories.files();
  while (true) {
    QUARRY_TRY_ASSIGN(auto file, files.open(path, base::FileUse::kOpenOrMake));
    QUARRY_TRY_ASSIGN(const bool is_locked, file->try_lock());
    if (!is_locked) {
      return base::fail(ErrorCode::kBusy, path.string() + ": another daemon serves this queue");
    }
    // Whoever had it may just have removed it.
    QUARRY_TRY_ASSIGN(const bool has_name, file->has_name());
    if (!has_name) continue;
    QUARRY_TRY(file->truncate(0));
    // It is the lock that counts: on a full disk the number is missing, and the queue goes on.
    const auto written = file->append(fmt::format("{}\n", ::getpid()));
    if (!written && written.error().code != ErrorCode::kNoSpace)
      return std::unexpected(written.error());
    if (!written) base::log(base::LogLevel::kWarning, "{}", written.error().message);
    return PidFile(path, std::move(file));
  }
}

PidFile::~PidFile() {
  if (file_) ::unlink(path_.c_str());
}

Result<void> Loop::open() {
  for (const QueueOptions& queue : options_.queues) {
    auto directories = std::make_unique<Directories>(base::FileSystem::real(), queue.base);
    QUARRY_TRY(directories->make());
    QUARRY_TRY_ASSIGN(auto pid_file, PidFile::take(*directories, kind_));
    const auto ctrl = queue.base / "ctrl";
    for (std::size_t i = 0; i < kTriggers; ++i) {
      QUARRY_TRY(make_trigger(ctrl, static_cast<Trigger>(i)));
    }
    QUARRY_TRY_ASSIGN(auto fifo, listen(ctrl, kind_));
    posts_.push_back({.options = queue,
                      .directories = std::move(directories),
                      .pid_file = std::move(pid_file),
                      .fifo = std::move(fifo),
                      .work = nullptr});
  }
  return {};
}

Desk Loop::desk_of(Post& post) const {
  return {.options = post.options,
          .directories = *post.directories,
          .clock = base::system_clock(),
          .report = options_.report};
}

void Loop::let_go() {
  for (Post& post : posts_) {
    post.pid_file.let_go();
    post.work->leave_daemon();
  }
  signals_.reset();
}

Result<void> Loop::begin() {
  sigset_t signals;
  ::sigemptyset(&signals);
  for (const int signal : {SIGTERM, SIGINT, SIGQUIT}) ::sigaddset(&signals, signal);
  ::sigprocmask(SIG_BLOCK, &signals, nullptr);
  signals_.reset(::signalfd(-1, &signals, SFD_CLOEXEC | SFD_NONBLOCK));
  if (!signals_) return base::fail_errno("no descriptor for signals");
  for (Post& post : posts_) QUARRY_TRY(post.work->begin());
  is_woken_.assign(posts_.size(), true);
  return {};
}

/// Has the work done of those that were woken; when it IS TIME, of all, and all of it.
void Loop::work(bool is_time) {
  const base::UnixMillis now = base::system_clock().now();
  if (is_time) next_scan_ = {now.value + options_.scan_interval.count()};
  for (std::size_t i = 0; i < posts_.size(); ++i) {
    const auto due = posts_[i].work->next_time();
    if (!is_time && !is_woken_[i] && !(due && *due <= now)) continue;
    is_woken_[i] = false;
    drain(posts_[i].fifo);
    const auto done = posts_[i].work->run(is_time ? Scan::kAll : Scan::kNew);
    if (!done) {
      base::log(base::LogLevel::kError, "{}: {}", posts_[i].options.base.string(),
                done.error().message);
    }
  }
}

/// Waits for something to happen. Returns the signal that came, or 0.
int Loop::wait() {
  std::vector<pollfd> polls = {{.fd = signals_.get(), .events = POLLIN, .revents = 0}};
  std::vector<std::size_t> owners = {posts_.size()};
  for (std::size_t i = 0; i < posts_.size(); ++i) {
    std::vector<int> descriptors = posts_[i].work->descriptors();
    descriptors.push_back(posts_[i].fifo.get());
    for (const int descriptor : descriptors) {
      polls.push_back({.fd = descriptor, .events = POLLIN, .revents = 0});
      owners.push_back(i);
    }
  }
  const base::UnixMillis now = base::system_clock().now();
  base::UnixMillis until = next_scan_;
  if (const auto next = next_time()) until = std::min(until, *next);
  const auto millis = std::clamp<std::int64_t>(until.value - now.value, 0, 60'000);
  ::poll(polls.data(), polls.size(), static_cast<int>(millis));
  for (std::size_t i = 1; i < polls.size(); ++i) {
    if (polls[i].revents != 0) is_woken_[owners[i]] = true;
  }
  signalfd_siginfo signal{};
  const ssize_t count = ::read(signals_.get(), &signal, sizeof signal);
  return count == sizeof signal ? static_cast<int>(signal.ssi_signo) : 0;
}

bool Loop::is_idle() const {
  return std::ranges::all_of(posts_, [](const Post& post) { return post.work->is_idle(); });
}

std::optional<base::UnixMillis> Loop::next_time() const {
  std::optional<base::UnixMillis> next;
  for (const Post& post : posts_) {
    const auto time = post.work->next_time();
    if (time && (!next || *time < *next)) next = time;
  }
  return next;
}

Result<void> Loop::run() {
  QUARRY_TRY(begin());
  std::optional<base::UnixMillis> last;  // when patience ends
  bool is_time = true;
  while (true) {
    work(is_time);
    if ((options_.is_once || is_finishing_) && is_idle()) return {};
    if (last && base::system_clock().now() >= *last) return {};
    const int signal = wait();
    is_time = base::system_clock().now() >= next_scan_;
    if (signal == 0 || is_finishing_) continue;
    is_finishing_ = true;
    std::chrono::milliseconds patience{0};
    for (Post& post : posts_) {
      post.work->finish();
      patience = std::max(patience, post.options.patience);
    }
    last = {base::system_clock().now().value + patience.count()};
    next_scan_ = {std::min(next_scan_.value, last->value)};
  }
}

}  // namespace quarry::changes
