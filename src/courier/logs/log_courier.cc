#include "quarry/courier/log_courier.h"

#include <curl/curl.h>
#include <fcntl.h>
#include <poll.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <csignal>
#include <ctime>
#include <memory>
#include <mutex>
#include <stop_token>
#include <utility>

#include "line_sender.h"
#include "quarry/base/fd.h"
#include "quarry/base/log.h"
#include "quarry/base/log_throttle.h"
#include "quarry/courier/shipping_figures.h"
#include "quarry/spool/queue.h"

namespace quarry::courier {
namespace {

using base::LogLevel;
using std::chrono::milliseconds;

// Limit on bytes read from a log at once, so that all logs have their turn.
constexpr std::size_t kRead = std::size_t{128} << 10;
// Longer lines are split.
constexpr std::size_t kMaxLogLine = std::size_t{1} << 20;
// Limit on retry.max_delay, so that lines do not wait long after the receiver works again.
constexpr milliseconds kMaxDelay{30'000};
constexpr int kTickMs = 1000;  // between two writes of the figures
constexpr int kGatherMs = 10;

std::int64_t wall_micros() {
  return std::chrono::duration_cast<std::chrono::microseconds>(
             std::chrono::system_clock::now().time_since_epoch())
      .count();
}

/// Returns "1 log line" or, for example, "2 log lines".
std::string count_of(std::uint64_t lines) {
  return fmt::format("{} log line{}", lines, lines == 1 ? "" : "s");
}

void report_line(const std::string& line) {
  base::log(LogLevel::kWarning, "{}", line);
}

/// Returns times that always increase, so that each line has a unique time.
class LineClock {
 public:
  std::int64_t next() { return last_ = std::max(wall_micros(), last_ + 1); }

 private:
  std::int64_t last_ = 0;
};

/// The reading end of a log's FIFO.
class LogPipe {
 public:
  static Result<LogPipe> open(const ShippedLog& log) {
    // With O_RDWR, read(2) never reports the end of the FIFO.
    base::Fd fd(::open(log.pipe.c_str(), O_RDWR | O_NONBLOCK | O_CLOEXEC | O_NOFOLLOW));
    struct stat status {};
    if (!fd || ::fstat(fd.get(), &status) != 0) return fail_errno("cannot open {}", log.pipe);
    if (!S_ISFIFO(status.st_mode)) return fail(ErrorCode::kInvalid, "{} is not a FIFO", log.pipe);
    return LogPipe(log.name, std::move(fd));
  }

  int fd() const { return fd_.get(); }

  /// Calls read(2) once, and adds complete lines to MESSAGES. Returns false if nothing was read.
  bool read(LineClock& clock, std::vector<spool::Message>& messages) {
    const std::size_t kept = rest_.size();
    rest_.resize(kept + kRead);
    const ssize_t size = ::read(fd_.get(), rest_.data() + kept, kRead);
    rest_.resize(kept + static_cast<std::size_t>(std::max<ssize_t>(size, 0)));
    std::string_view text = rest_;
    for (std::size_t end = text.find('\n', kept); end != text.npos; end = text.find('\n')) {
      messages.push_back(message_of(clock.next(), name_, text.substr(0, end)));
      text.remove_prefix(end + 1);
    }
    if (text.size() > kMaxLogLine) {
      messages.push_back(message_of(clock.next(), name_, text));
      text = {};
    }
    rest_.erase(0, rest_.size() - text.size());
    return size > 0;
  }

 private:
  LogPipe(std::string name, base::Fd fd) : name_(std::move(name)), fd_(std::move(fd)) {}

  std::string name_;
  base::Fd fd_;
  std::string rest_;  // the beginning of a line
};

/// Sends lines, and counts delivered and rejected ones. Used in the thread of the queue's worker,
/// except for add_to() and reopen().
class LineConsumer {
 public:
  explicit LineConsumer(const DestinationOptions& options)
      : options_(options),
        sender_(make_line_sender(options, [this] { return stop_.stop_requested(); })) {}

  spool::Delivery take(std::span<const spool::Message> batch, const std::stop_token& stop) {
    stop_ = stop;
    if (is_reopening_.exchange(false)) sender_->reopen();
    lines_.clear();
    for (const spool::Message& message : batch) {
      const auto line = line_in(message);
      if (!line) break;
      lines_.push_back(*line);
    }
    // Drop a message without a line, which only another program can have put into the queue.
    if (lines_.empty()) return {.delivered = 1};
    const LineDelivery done = sender_->send(lines_);
    if (!stop.stop_requested()) note(done);
    rejected_ += done.rejected;
    delivered_ += done.delivered - done.rejected;
    if (done.delivered > 0) failures_ = 0;
    if (done.delivered == lines_.size()) return {.delivered = done.delivered};
    return {.delivered = done.delivered, .retry_after = done.delay.value_or(next_delay())};
  }

  void reopen() { is_reopening_ = true; }

  void add_to(ShippingFigures& figures) {
    figures.delivered += delivered_;
    figures.rejected += rejected_;
    const std::scoped_lock lock(mutex_);
    if (failed_at_ == 0) return;
    figures.failed_at = failed_at_;
    figures.error = {};
    error_.copy(figures.error.data(), figures.error.size() - 1);
  }

 private:
  /// Logs rejected lines, the first of several failures, and the next success.
  void note(const LineDelivery& done) {
    if (done.rejected > 0) {
      throttle_.warn(fmt::format("{} rejected {} line{} of a log, which {} dropped: {}",
                                 options_.name, done.rejected, done.rejected == 1 ? "" : "s",
                                 done.rejected == 1 ? "is" : "are", done.error));
    }
    const bool is_failing = done.delivered < lines_.size();
    if (is_failing && !is_failing_) {
      base::log(LogLevel::kWarning, "cannot deliver log lines to {}: {}; retrying", options_.name,
                done.error);
    } else if (!is_failing && is_failing_) {
      base::log(LogLevel::kNotice, "delivery of log lines to {} has resumed", options_.name);
    }
    is_failing_ = is_failing;
    if (done.error.empty()) return;
    const std::scoped_lock lock(mutex_);
    error_ = done.error;
    failed_at_ = std::time(nullptr);
  }

  milliseconds next_delay() {
    constexpr int kMaxDoublings = 16;
    const auto delay = options_.retry_delay * (1 << std::min(failures_++, kMaxDoublings));
    return std::min({milliseconds(delay), options_.retry_max_delay, kMaxDelay});
  }

  const DestinationOptions& options_;
  std::unique_ptr<LineSender> sender_;
  std::stop_token stop_;  // of the current delivery
  std::vector<LogLine> lines_;
  base::LogThrottle throttle_;
  bool is_failing_ = false;
  int failures_ = 0;
  std::atomic<bool> is_reopening_{false};
  std::atomic<std::uint64_t> delivered_{0};
  std::atomic<std::uint64_t> rejected_{0};
  std::mutex mutex_;  // protects the members below
  std::string error_;
  std::int64_t failed_at_ = 0;
};

class LogCourier {
 public:
  explicit LogCourier(const LogCourierOptions& options)
      : options_(options), consumer_(options.destination) {}

  Result<void> open() {
    for (const ShippedLog& log : options_.logs) {
      QUARRY_TRY_ASSIGN(auto pipe, LogPipe::open(log));
      pipes_.push_back(std::move(pipe));
    }
    figures_.reset(::open(options_.figures.c_str(), O_RDWR | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK));
    if (!figures_) return fail_errno("cannot open {}", options_.figures);
    earlier_ = read_shipping_figures(figures_.get()).value_or(ShippingFigures());
    if (earlier_.queued > 0) {
      base::log(LogLevel::kWarning, "a process was killed: lost about {} that were in its memory",
                count_of(earlier_.queued));
      earlier_.lost += earlier_.queued;
    }
    QUARRY_TRY_ASSIGN(spool::QueueOptions queue, queue_options(options_.destination));
    queue.spool_directory = options_.spool_directory;
    queue.filename = "log-" + options_.destination.name;
    QUARRY_TRY_ASSIGN(
        queue_, spool::Queue::start(
                    queue,
                    [this](std::span<const spool::Message> batch, const std::stop_token& stop) {
                      return consumer_.take(batch, stop);
                    },
                    report_line));
    return {};
  }

  /// Queues the lines that are in the FIFOs. Returns false if the FIFOs are empty.
  bool take_lines() {
    std::vector<spool::Message> messages;
    bool has_read = false;
    for (LogPipe& pipe : pipes_) has_read |= pipe.read(clock_, messages);
    if (messages.empty()) return has_read;
    Error error;
    const std::size_t accepted = queue_->enqueue(messages, spool::Delay::kNone, &error);
    if (accepted == messages.size()) return true;
    lost_ += messages.size() - accepted;
    throttle_.warn(fmt::format("lost {} so far: {}", count_of(figures().lost), error.message));
    return true;
  }

  /// Waits for lines or a signal.
  void wait(const base::Fd& signals) {
    std::vector<pollfd> ready{{.fd = signals.get(), .events = POLLIN, .revents = 0}};
    for (const LogPipe& pipe : pipes_) {
      ready.push_back({.fd = pipe.fd(), .events = POLLIN, .revents = 0});
    }
    ::poll(ready.data(), ready.size(), kTickMs);
    // Let lines accumulate, so that a busy server does not wake this process for each line.
    ::poll(ready.data(), 1, kGatherMs);
  }

  ShippingFigures figures() {
    ShippingFigures figures = earlier_;
    const spool::Statistics now = queue_->statistics();
    figures.layout = ShippingFigures::kLayout;
    // Lines in memory after the end are counted as lost.
    figures.queued = has_ended_ ? 0 : now.size;
    figures.on_disk = now.on_disk;
    figures.disk_bytes = now.disk_bytes;
    figures.lost += lost_ + now.discarded_queued + now.lost;
    consumer_.add_to(figures);
    return figures;
  }

  void publish() {
    const ShippingFigures figures = this->figures();
    (void)!::pwrite(figures_.get(), &figures, sizeof figures, 0);
  }

  void reopen() { consumer_.reopen(); }

  void end() {
    while (take_lines()) {
    }
    const spool::Ending ending = queue_->shutdown();
    has_ended_ = true;
    publish();
    if (ending.lost > 0) base::log(LogLevel::kError, "lost {}", count_of(ending.lost));
    if (ending.saved == 0) return;
    base::log(LogLevel::kNotice, "saved {} in {}/log-{}.* for the next start",
              count_of(ending.saved), options_.spool_directory, options_.destination.name);
  }

 private:
  const LogCourierOptions& options_;
  std::vector<LogPipe> pipes_;
  LineClock clock_;
  base::Fd figures_;
  ShippingFigures earlier_;
  LineConsumer consumer_;
  std::uint64_t lost_ = 0;
  bool has_ended_ = false;
  base::LogThrottle throttle_;
  std::unique_ptr<spool::Queue> queue_;  // declared last, because its worker uses the consumer
};

Result<base::Fd> log_courier_signals() {
  sigset_t signals;
  ::sigemptyset(&signals);
  for (const int number : {SIGTERM, SIGINT, SIGUSR1}) ::sigaddset(&signals, number);
  base::Fd fd(::signalfd(-1, &signals, SFD_NONBLOCK | SFD_CLOEXEC));
  if (!fd) return fail_errno("cannot wait for signals");
  return fd;
}

}  // namespace

Result<void> run_log_courier(const LogCourierOptions& options,
                             const std::function<void()>& reopen) {
  curl_global_init(CURL_GLOBAL_DEFAULT);
  LogCourier courier(options);
  QUARRY_TRY_ASSIGN(const base::Fd signals, log_courier_signals());
  QUARRY_TRY(courier.open());
  std::time_t published = 0;
  for (;;) {
    signalfd_siginfo signal{};
    if (::read(signals.get(), &signal, sizeof signal) == sizeof signal) {
      if (signal.ssi_signo != SIGUSR1) break;
      reopen();
      courier.reopen();
    }
    if (const std::time_t now = std::time(nullptr); now != published) {
      published = now;
      courier.publish();
    }
    if (!courier.take_lines()) courier.wait(signals);
  }
  courier.end();
  return {};
}

}  // namespace quarry::courier
