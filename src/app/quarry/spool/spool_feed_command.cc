// quarry spool feed: stores messages from standard input in a queue.
#include <fmt/core.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "common/exit_codes.h"
#include "common/interruption.h"
#include "common/owner.h"
#include "common/report.h"
#include "poll_sources.h"
#include "quarry/spool/queue.h"
#include "spool_commands.h"

namespace quarry::app {
namespace {

using spool::Message;

constexpr std::size_t kReadAtOnce = std::size_t{64} << 10;
// Milliseconds between checks that the folder still exists, if notifications do not work.
constexpr int kMaxInputWait = 5000;
// Milliseconds between attempts to use a full or locked queue.
constexpr int kRetryInterval = 100;
// Number of attempts to open a locked queue. Retries help if a process that is ending still holds
// the lock for a short time.
constexpr int kMaxOpenAttempts = 20;

/// Makes a feed wait at queue.fulldelaymark, as if the queue were full. A feed can wait there,
/// because it is the only producer of its queue, and its input is a pipe.
Result<void> stop_at_full_delay_mark(spool::QueueOptions& options) {
  QUARRY_TRY_ASSIGN(spool::QueueOptions whole, spool::complete(options));
  if (options.discard_mark && *options.discard_mark > *whole.full_delay_mark) {
    return fail(ErrorCode::kInvalid, "queue.discardmark must not be above queue.fulldelaymark");
  }
  whole.size = *whole.full_delay_mark;
  // Clear the default of light_delay_mark, because it might exceed the new size. A feed does not
  // use this mark.
  whole.light_delay_mark.reset();
  if (whole.type == spool::QueueType::kDisk) {
    whole.high_watermark.reset();
    whole.low_watermark.reset();
  }
  whole.discard_mark = std::min(*whole.discard_mark, whole.size);
  options = std::move(whole);
  return {};
}

/// Splits input into messages. Messages that are too long are reported and skipped.
class LineReader {
 public:
  /// Creates a reader for lines that end with END. MAX_SIZE is the maximum size of a message in
  /// bytes.
  LineReader(char end, std::uint8_t severity, std::size_t max_size)
      : end_(end), severity_(severity), max_size_(max_size) {}

  /// Returns the messages that BYTES complete.
  std::vector<Message> take(std::string_view bytes) {
    std::vector<Message> messages;
    for (std::size_t at = bytes.find(end_); at != std::string_view::npos; at = bytes.find(end_)) {
      add(bytes.substr(0, at));
      bytes.remove_prefix(at + 1);
      end_line(messages);
    }
    add(bytes);
    return messages;
  }
  /// Returns the last message, if it does not have a terminator.
  std::vector<Message> rest() {
    std::vector<Message> messages;
    if (!begun_.empty()) end_line(messages);
    return messages;
  }
  std::uint64_t count() const { return count_; }
  std::uint64_t skipped() const { return skipped_; }

 private:
  void add(std::string_view part) {
    if (is_too_long_) return;
    if (part.size() <= max_size_ - begun_.size()) {
      begun_ += part;
      return;
    }
    is_too_long_ = true;
    ++skipped_;
    begun_ = {};
    report(fmt::format("standard input: line {} is longer than {} bytes{}: skipped", count_ + 1,
                       max_size_,
                       max_size_ < spool::kMaxContent ? ", the limit of queue.maxdiskspace" : ""));
  }
  void end_line(std::vector<Message>& messages) {
    ++count_;
    if (std::exchange(is_too_long_, false)) return;
    messages.push_back({.content = std::exchange(begun_, {}), .severity = severity_});
  }

  char end_;
  std::uint8_t severity_;
  std::size_t max_size_;
  std::string begun_;
  bool is_too_long_ = false;  // whether the unfinished line is too long
  std::uint64_t count_ = 0;
  std::uint64_t skipped_ = 0;
};

/// Adds messages to the queue, and waits while the queue is full.
class QueueFeeder {
 public:
  /// PATIENCE is the maximum time to wait for space. IS_ON_DISK tells whether the queue stores each
  /// message on the disk immediately.
  QueueFeeder(spool::Queue& queue, StopSignals& signals, spool::milliseconds patience,
              bool is_on_disk)
      : queue_(queue), signals_(signals), patience_(patience), is_on_disk_(is_on_disk) {}

  /// Adds MESSAGES to the queue, and waits for space if necessary. Errors: kBusy if a signal
  /// arrived before all messages were accepted, kLimit after PATIENCE, and file system errors.
  Result<void> put(std::vector<Message> messages) {
    std::span<Message> left(messages);
    auto since = Clock::now();
    while (!left.empty()) {
      Error error;
      const std::size_t taken = queue_.enqueue(left, spool::Delay::kNone, &error);
      left = left.subspan(taken);
      if (left.empty()) break;
      if (taken > 0) since = Clock::now();
      if (error.code == ErrorCode::kDiscarded) {
        if (discarded_++ == 0) report("queue.discardmark is reached: discarding lines");
        left = left.subspan(1);
        continue;
      }
      if (may_wait(error, since)) continue;
      return fail(error.code, "{}: {} lines that were read were not stored", error.message,
                  left.size());
    }
    return {};
  }

  /// Checks that the queue's files were not moved or removed, because further messages would then
  /// be lost. A queue in memory is not checked. Errors: kNotFound.
  Result<void> check_files() const { return is_on_disk_ ? queue_.check_files() : Result<void>{}; }
  std::uint64_t discarded() const { return discarded_; }

 private:
  using Clock = std::chrono::steady_clock;

  /// Waits for a short time if space might become free. Returns false if the wait must not be
  /// repeated: after any other error, after `patience_`, or after a signal. ERROR is then the reason.
  bool may_wait(Error& error, Clock::time_point since) {
    const bool is_full_disk = error.code == ErrorCode::kNoSpace;
    if (!is_full_disk && error.code != ErrorCode::kLimit) return false;
    if (patience_ != spool::kEternal && Clock::now() - since >= patience_) {
      error.message =
          fmt::format("{} for {} ms (queue.timeoutenqueue)",
                      is_full_disk ? error.message : "the queue has been full", patience_.count());
      return false;
    }
    if (is_full_disk && !std::exchange(has_reported_, true)) {
      report(error.message + ": waiting for space");
    }
    signals_.wait(is_full_disk ? kRetryInterval : 0);
    if (signals_.received() == 0) return true;
    error = {ErrorCode::kBusy, "interrupted by a signal"};
    return false;
  }

  spool::Queue& queue_;
  StopSignals& signals_;
  spool::milliseconds patience_;
  bool is_on_disk_;
  bool has_reported_ = false;
  std::uint64_t discarded_ = 0;
};

/// Opens the queue, and retries if it is locked.
Result<std::unique_ptr<spool::Queue>> start_queue(const spool::QueueOptions& options,
                                                  StopSignals& signals) {
  for (int tries = 1;; ++tries) {
    auto queue = spool::Queue::start(options, {}, report);
    const bool is_busy = !queue && queue.error().code == ErrorCode::kBusy;
    if (!is_busy || tries == kMaxOpenAttempts || signals.received() != 0) return queue;
    signals.wait(kRetryInterval);
  }
}

/// Waits for input. Returns false after a signal. Errors: kNotFound if the queue's files were
/// removed.
Result<bool> wait_for_input(const QueueFeeder& feeder, FolderWatch& watch, StopSignals& signals) {
  while (true) {
    std::array<pollfd, 2> sources{{{STDIN_FILENO, POLLIN, 0}, {watch.fd(), POLLIN, 0}}};
    if (!signals.wait(sources, kMaxInputWait)) return false;
    if (sources[0].revents != 0) return true;
    watch.clear();
    QUARRY_TRY(feeder.check_files());
  }
}

Result<void> feed_all(QueueFeeder& feeder, LineReader& lines, FolderWatch& watch,
                      StopSignals& signals) {
  std::vector<char> buffer(kReadAtOnce);
  while (true) {
    QUARRY_TRY_ASSIGN(const bool has_input, wait_for_input(feeder, watch, signals));
    if (!has_input) return {};
    const ssize_t count = ::read(STDIN_FILENO, buffer.data(), buffer.size());
    if (count < 0 && errno != EINTR && errno != EAGAIN) return fail_errno("standard input");
    if (count == 0) return feeder.put(lines.rest());
    if (count < 0) continue;
    QUARRY_TRY(feeder.put(lines.take({buffer.data(), static_cast<std::size_t>(count)})));
  }
}

/// Returns the result of a feed after the queue was shut down: FED, or an error if messages were
/// lost or if lines were too long.
Result<void> outcome(Result<void> fed, const spool::Ending& ending, const LineReader& lines) {
  if (ending.lost > 0) {
    const std::string lost = fmt::format("{} messages could not be saved", ending.lost);
    return fail(fed ? ErrorCode::kIo : fed.error().code,
                fed ? lost : fmt::format("{}; {}", fed.error().message, lost));
  }
  if (!fed || lines.skipped() == 0) return fed;
  return fail(ErrorCode::kLimit, "{} lines were too long and were skipped", lines.skipped());
}

Result<void> feed(const SpoolArguments& arguments, StopSignals& signals) {
  QUARRY_TRY_ASSIGN(auto options, options_of(arguments));
  const spool::milliseconds patience = options.timeout_enqueue;
  QUARRY_TRY(stop_at_full_delay_mark(options));
  // Let the queue wait only briefly for space, so that QueueFeeder can check for signals.
  // QueueFeeder repeats the wait until PATIENCE is over.
  options.timeout_enqueue = std::min(patience, spool::milliseconds(kRetryInterval));
  QUARRY_TRY(act_as_owner_of(arguments.folder));
  QUARRY_TRY_ASSIGN(const auto queue, start_queue(options, signals));
  FolderWatch watch(arguments.folder, IN_DELETE_SELF | IN_MOVE_SELF | IN_DELETE | IN_MOVED_FROM);
  LineReader lines(arguments.is_null ? '\0' : '\n', arguments.severity,
                   spool::max_content(options));
  QueueFeeder feeder(*queue, signals, patience, options.type == spool::QueueType::kDisk);
  auto fed = feed_all(feeder, lines, watch, signals);
  // The shutdown can wait for disk space, so let another signal abort it.
  if (signals.received() != 0) signals.restore_default();
  const spool::Ending ending = queue->shutdown();
  if (feeder.discarded() > 0) {
    report(fmt::format("{} of {} lines were discarded: queue.discardmark was reached",
                       feeder.discarded(), lines.count()));
  }
  return outcome(std::move(fed), ending, lines);
}

}  // namespace

int run_spool_feed(const SpoolArguments& arguments) {
  StopSignals signals;
  const auto done = feed(arguments, signals);
  if (!done) return failed(done.error());
  return signals.received() != 0 ? exit_by_signal(signals.received()) : kDone;
}

}  // namespace quarry::app
