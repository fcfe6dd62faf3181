// quarry spool drain: writes the messages of a queue to standard output. A message is deleted after
// the reader has received it, according to the kernel (see spool_output.h), or has acknowledged it
// (see acknowledgements.h).
#include <fmt/core.h>
#include <limits.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <deque>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "acknowledgements.h"
#include "common/exit_codes.h"
#include "common/interruption.h"
#include "common/owner.h"
#include "common/report.h"
#include "poll_sources.h"
#include "quarry/spool/options.h"
#include "quarry/spool/spool.h"
#include "spool_commands.h"
#include "spool_output.h"

namespace quarry::app {
namespace {

using spool::Message;

// Milliseconds between checks for new messages with --follow, if notifications do not work.
constexpr int kFollowInterval = 500;
// Milliseconds until the first check for received messages. Later delays are longer.
constexpr int kFirstPollDelay = 1;
constexpr int kMaxPollDelay = 64;
// Milliseconds after which the wall clock is read again, because it might have been changed.
constexpr int kClockInterval = 60'000;

/// Writes messages, and deletes those that were received.
class DrainLoop {
 public:
  DrainLoop(const SpoolArguments& arguments, const spool::QueueOptions& options,
            spool::Drain& drain, std::optional<Acknowledgements> acknowledgements,
            StopSignals& signals)
      : options_(options),
        drain_(drain),
        signals_(signals),
        watch_(arguments.folder, IN_MODIFY | IN_CREATE | IN_MOVED_TO),
        output_(STDOUT_FILENO, options.sync_queue_files),
        acknowledgements_(std::move(acknowledgements)),
        end_(arguments.is_null ? '\0' : '\n'),
        follows_(arguments.follow) {}

  /// Runs until the queue is empty, or until a signal arrives. Messages that the reader has not
  /// received stay in the queue.
  Result<void> run();

 private:
  using Clock = std::chrono::steady_clock;

  Result<void> go_on();
  Result<void> wait_for_window();
  Result<bool> gather();
  Result<void> write();
  Result<void> release_taken();
  Result<void> check_acknowledgements() const;
  Result<void> wait(int ms);
  std::unexpected<Error> gone(int number) const;

  /// Returns how many messages can be written before other messages have to be released.
  std::size_t room() const {
    const std::size_t ahead = acknowledgements_ ? ends_.size() : 0;
    return options_.dequeue_batch_size -
           std::min(ahead + next_.size(), options_.dequeue_batch_size);
  }
  /// Returns the number of messages in ends_ that end at or before BYTES.
  std::size_t whole_before(std::uint64_t bytes) const {
    return static_cast<std::size_t>(std::ranges::upper_bound(ends_, bytes) - ends_.begin());
  }

  const spool::QueueOptions& options_;
  spool::Drain& drain_;
  StopSignals& signals_;
  FolderWatch watch_;
  SpoolOutput output_;
  std::optional<Acknowledgements> acknowledgements_;
  char end_;
  bool follows_;

  std::vector<Message> next_;
  Clock::time_point next_since_;
  std::deque<std::uint64_t> ends_;  // offset in the output after each message that is not released
  std::uint64_t written_ = 0;       // total number of bytes
  int poll_delay_ = kFirstPollDelay;
  bool is_done_ = false;
  bool has_reported_window_ = false;
};

/// Returns the error for a reader that has exited, or a file that has become unwritable.
std::unexpected<Error> DrainLoop::gone(int number) const {
  const std::size_t left = whole_before(written_);
  std::string message = fmt::format("standard output: {}", std::strerror(number));
  if (left > 0 && output_.has_reader()) {
    message += fmt::format(": {} written messages were not {} and will be repeated", left,
                           acknowledgements_ ? "acknowledged" : "read");
  } else if (!output_.has_reader() && !ends_.empty()) {
    message += fmt::format(": {} messages were not {} and will be repeated", ends_.size(),
                           acknowledgements_ ? "acknowledged" : "written");
  }
  return fail(ErrorCode::kIo, std::move(message));
}

/// Releases the messages that the reader has received or acknowledged.
Result<void> DrainLoop::release_taken() {
  std::uint64_t count = 0;
  if (acknowledgements_) {
    count = acknowledgements_->count();
    if (const std::size_t written = whole_before(written_); count > written) {
      return fail(ErrorCode::kInvalid,
                  "{}: {} messages were acknowledged, but only {} were written",
                  acknowledgements_->name(), count, written);
    }
    acknowledgements_->take(count);
  } else {
    QUARRY_TRY_ASSIGN(const std::uint64_t taken, output_.taken(written_));
    count = whole_before(taken);
  }
  if (count == 0) return {};
  poll_delay_ = kFirstPollDelay;
  drain_.settle(count);
  ends_.erase(ends_.begin(), ends_.begin() + static_cast<std::ptrdiff_t>(count));
  return {};
}

/// Checks that missing acknowledgements can still arrive. Errors: kIo if the reader cannot send
/// acknowledgements.
Result<void> DrainLoop::check_acknowledgements() const {
  if (!acknowledgements_ || !acknowledgements_->has_ended() || ends_.empty()) return {};
  return fail(ErrorCode::kIo,
              "{}: closed: {} written messages were not acknowledged "
              "and will be repeated",
              acknowledgements_->name(), ends_.size());
}

/// Waits for at most MS milliseconds. Handles acknowledgements and the reader's exit.
Result<void> DrainLoop::wait(int ms) {
  QUARRY_TRY(check_acknowledgements());
  const bool is_read = ends_.empty();
  if (!is_read && !acknowledgements_) {
    ms = ms < 0 ? poll_delay_ : std::min(ms, poll_delay_);
    poll_delay_ = std::min(2 * poll_delay_, kMaxPollDelay);
  }
  // Do not watch for the reader's exit while acknowledgements are missing. A reader can close its
  // input first and send acknowledgements later.
  const bool may_go = is_read || !acknowledgements_;
  std::array<pollfd, 3> sources{{{follows_ ? watch_.fd() : -1, POLLIN, 0},
                                 {may_go ? output_.fd() : -1, 0, 0},
                                 {acknowledgements_ ? acknowledgements_->fd() : -1, POLLIN, 0}}};
  if (!signals_.wait(sources, ms)) return {};
  if (sources[2].revents != 0) QUARRY_TRY(acknowledgements_->read());
  QUARRY_TRY(release_taken());
  const bool is_gone = (sources[1].revents & (POLLERR | POLLHUP | POLLNVAL)) != 0;
  if (is_gone) return gone(EPIPE);
  return {};
}

/// Waits until the hours in which messages can be delivered (queue.dequeuetimebegin).
Result<void> DrainLoop::wait_for_window() {
  const auto left = [this] { return spool::until_window(options_, spool::local_time()); };
  while (left().count() > 0 && signals_.received() == 0) {
    if (!std::exchange(has_reported_window_, true)) {
      report(fmt::format("waiting until {:02}:00 (queue.dequeuetimebegin)",
                         options_.dequeue_time_begin));
    }
    const std::chrono::milliseconds time = left();
    QUARRY_TRY(wait(static_cast<int>(std::min<std::int64_t>(time.count(), kClockInterval))));
    watch_.clear();
  }
  has_reported_window_ = false;
  return {};
}

/// Gets the next messages. Returns true if the collected messages should be written now, because
/// there are enough of them or the time for collecting is over.
Result<bool> DrainLoop::gather() {
  const std::size_t most = room();
  if (most > 0) {
    QUARRY_TRY_ASSIGN(auto messages, drain_.next(most));
    if (next_.empty()) next_since_ = Clock::now();
    std::ranges::move(messages, std::back_inserter(next_));
  }
  if (next_.empty()) return false;
  const bool is_enough = next_.size() >= options_.min_dequeue_batch_size || room() == 0;
  if (is_enough || !follows_) return true;
  return Clock::now() - next_since_ >= options_.min_dequeue_batch_timeout;
}

/// Runs one round: writes or waits.
Result<void> DrainLoop::go_on() {
  watch_.clear();
  QUARRY_TRY(check_acknowledgements());
  QUARRY_TRY(wait_for_window());
  if (signals_.received() != 0) return {};
  QUARRY_TRY_ASSIGN(const bool is_to_write, gather());
  if (acknowledgements_ && acknowledgements_->has_ended() && (follows_ || !next_.empty())) {
    return fail(ErrorCode::kIo,
                acknowledgements_->name() + ": closed: no more messages can be acknowledged");
  }
  if (is_to_write) return write();
  if (!next_.empty()) {
    const auto until = next_since_ + options_.min_dequeue_batch_timeout;
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(until - Clock::now());
    return wait(static_cast<int>(std::clamp<std::int64_t>(left.count(), 0, kFollowInterval)));
  }
  is_done_ = ends_.empty() && !follows_;
  return is_done_ ? Result<void>{} : wait(follows_ ? kFollowInterval : -1);
}

/// Writes the next messages, until a signal arrives. write(2) must never block here. The reader
/// might have stopped, or might be waiting until this process reads its acknowledgements.
Result<void> DrainLoop::write() {
  std::string text;
  for (const Message& message : next_) {
    (text += message.content) += end_;
    ends_.push_back(written_ + text.size());
  }
  next_.clear();
  std::string_view left = text;
  while (!left.empty()) {
    std::array<pollfd, 2> sources{{{output_.fd(), POLLOUT, 0},
                                   {acknowledgements_ ? acknowledgements_->fd() : -1, POLLIN, 0}}};
    if (!signals_.wait(sources, -1)) return {};
    if (sources[1].revents != 0) QUARRY_TRY(acknowledgements_->read());
    if (sources[0].revents == 0) continue;
    const ssize_t count =
        ::write(output_.fd(), left.data(), std::min<std::size_t>(left.size(), PIPE_BUF));
    if (count < 0 && (errno == EINTR || errno == EAGAIN)) continue;
    if (count < 0) {
      const int number = errno;
      output_.write_failed();
      QUARRY_TRY(release_taken());
      return gone(number);
    }
    left.remove_prefix(static_cast<std::size_t>(count));
    written_ += static_cast<std::uint64_t>(count);
  }
  return release_taken();
}

Result<void> DrainLoop::run() {
  Result<void> done;
  while (done && !is_done_ && signals_.received() == 0) done = go_on();
  // Read acknowledgements that arrived before the signal or error.
  std::array<pollfd, 1> last{{{acknowledgements_ ? acknowledgements_->fd() : -1, POLLIN, 0}}};
  signals_.wait(last, 0);
  if (done && last[0].revents != 0) done = acknowledgements_->read();
  const auto settled = release_taken();
  if (done) done = settled;
  const auto finished = drain_.finish();
  return done ? finished : done;
}

/// With --follow, waits until a feed has created FOLDER. Errors: kNotFound.
Result<void> wait_for_folder(const SpoolArguments& arguments, StopSignals& signals) {
  bool has_reported = false;
  std::error_code error;
  while (std::filesystem::status(arguments.folder, error).type() ==
         std::filesystem::file_type::not_found) {
    if (!arguments.follow) {
      return fail(ErrorCode::kNotFound, "{}: the folder does not exist", arguments.folder);
    }
    if (!std::exchange(has_reported, true)) {
      report(fmt::format("{}: the folder does not exist yet; waiting for it", arguments.folder));
    }
    if (!signals.wait(kFollowInterval)) break;
  }
  return {};
}

Result<void> drain(const SpoolArguments& arguments, StopSignals& signals) {
  QUARRY_TRY_ASSIGN(const auto given, options_of(arguments));
  QUARRY_TRY_ASSIGN(const auto options, spool::complete(given));
  std::optional<Acknowledgements> acknowledgements;
  if (arguments.acknowledgements >= 0) {
    QUARRY_TRY_ASSIGN(acknowledgements, Acknowledgements::open(arguments.acknowledgements));
  }
  QUARRY_TRY(wait_for_folder(arguments, signals));
  if (signals.received() != 0) return {};
  QUARRY_TRY(act_as_owner_of(arguments.folder));
  QUARRY_TRY_ASSIGN(const auto drain,
                    spool::Drain::open({arguments.folder, options.filename}, options, report));
  return DrainLoop(arguments, options, *drain, std::move(acknowledgements), signals).run();
}

}  // namespace

int run_spool_drain(const SpoolArguments& arguments) {
  StopSignals signals;
  const auto done = drain(arguments, signals);
  if (!done) return failed(done.error());
  return signals.received() != 0 ? exit_by_signal(signals.received()) : kDone;
}

}  // namespace quarry::app
