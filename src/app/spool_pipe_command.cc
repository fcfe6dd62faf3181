// quarry spool feed and drain: a pipe that survives either of its ends.
#include <fmt/core.h>
#include <sys/inotify.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <climits>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "commands.h"
#include "interruption.h"
#include "quarry/spool/queue.h"
#include "quarry/spool/spool.h"
#include "stop_signals.h"

namespace quarry::app {
namespace {

using base::ErrorCode;
using base::fail;
using base::Result;
using spool::Message;

constexpr std::size_t kReadAtOnce = std::size_t{64} << 10;
// Who follows looks again after so many milliseconds where nothing tells him of changes.
constexpr int kLookAgain = 500;
// Milliseconds after which a queue that has no room, or that another process has, is tried again.
constexpr int kTryAgain = 100;
// A process that ends with the queue has its lock for a moment.
constexpr int kMostTries = 20;

void report(const std::string& line) {
  fmt::print(stderr, "quarry: {}\n", line);
}

bool is_given(const SpoolArguments& arguments, std::string_view name) {
  return std::ranges::any_of(arguments.parameters,
                             [name](const auto& parameter) { return parameter.first == name; });
}

/// From queue.fulldelaymark on who can wait does: that is who reads a pipe, and nobody else is
/// there.
Result<void> stop_at_full_delay_mark(spool::QueueOptions& options) {
  QUARRY_TRY_ASSIGN(spool::QueueOptions whole, spool::complete(options));
  if (options.discard_mark && *options.discard_mark > *whole.full_delay_mark) {
    return fail(ErrorCode::kInvalid, "queue.discardmark must not be above queue.fulldelaymark");
  }
  whole.size = *whole.full_delay_mark;
  // Of the size that it had, and of no use here.
  whole.light_delay_mark.reset();
  if (whole.type == spool::QueueType::kDisk) {
    whole.high_watermark.reset();
    whole.low_watermark.reset();
  }
  whole.discard_mark = std::min(*whole.discard_mark, whole.size);
  options = std::move(whole);
  return {};
}

/// What would be of no effect is refused.
Result<void> check_use(const SpoolArguments& arguments, const spool::QueueOptions& options) {
  if (options.type != spool::QueueType::kDisk) return {};
  for (const char* name : {"highwatermark", "lowwatermark"}) {
    if (!is_given(arguments, name)) continue;
    return fail(ErrorCode::kInvalid,
                fmt::format("queue.{} is of memory, and queue.type is disk", name));
  }
  const bool is_choosy = options.discard_severity <= spool::kLeastSevere;
  if (!is_choosy || options.size != spool::kAnySize || options.discard_mark) return {};
  return fail(ErrorCode::kInvalid,
              "queue.discardseverity needs queue.discardmark or queue.size: the disk has no mark");
}

Result<spool::QueueOptions> options_of(const SpoolArguments& arguments) {
  spool::QueueOptions options;
  options.spool_directory = arguments.folder;
  options.filename = arguments.filename;
  // A pipe loses nothing by itself: who is in a hurry says so.
  options.save_on_shutdown = true;
  options.timeout_shutdown = spool::kEternal;
  options.checkpoint_interval = 1;
  options.dequeue_batch_size = 1000;
  // Who speaks of water marks wants them to count; else every line is safe as soon as it is read.
  const bool has_marks =
      is_given(arguments, "highwatermark") || is_given(arguments, "lowwatermark");
  options.type = has_marks ? spool::QueueType::kMemory : spool::QueueType::kDisk;
  for (const auto& [name, value] : arguments.parameters) {
    QUARRY_TRY(spool::set_parameter(options, name, value));
  }
  const bool is_disk = options.type == spool::QueueType::kDisk;
  if (is_disk && !is_given(arguments, "size")) options.size = spool::kAnySize;
  QUARRY_TRY(check_use(arguments, options));
  return options;
}

/// Cuts what is read into messages, but for what is too long for one: that is told, and left out.
class Lines {
 public:
  /// MOST: bytes of one.
  Lines(char end, std::uint8_t severity, std::size_t most)
      : end_(end), severity_(severity), most_(most) {}

  /// The messages that BYTES complete.
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
  /// The last one, which has no end.
  std::vector<Message> rest() {
    std::vector<Message> messages;
    if (!begun_.empty()) end_line(messages);
    return messages;
  }
  std::uint64_t left_out() const { return left_out_; }

 private:
  void add(std::string_view part) {
    if (is_too_long_) return;
    if (part.size() <= most_ - begun_.size()) {
      begun_ += part;
      return;
    }
    is_too_long_ = true;
    ++left_out_;
    begun_ = {};
    report(fmt::format(
        "standard input: line {} has more than {} bytes{}: it is left out", count_ + 1, most_,
        most_ < spool::kMostContent ? ", all that queue.maxdiskspace has room for" : ""));
  }
  void end_line(std::vector<Message>& messages) {
    ++count_;
    if (std::exchange(is_too_long_, false)) return;
    messages.push_back({.content = std::exchange(begun_, {}), .severity = severity_});
  }

  char end_;
  std::uint8_t severity_;
  std::size_t most_;
  std::string begun_;
  bool is_too_long_ = false;  // the line that has begun
  std::uint64_t count_ = 0;
  std::uint64_t left_out_ = 0;
};

/// The queue, as who has to put all of what he reads into it sees it.
class Feeding {
 public:
  /// PATIENCE: how long to wait for room.
  Feeding(spool::Queue& queue, StopSignals& signals, spool::milliseconds patience)
      : queue_(queue), signals_(signals), patience_(patience) {}

  /// Puts MESSAGES into the queue, and waits for room where there is none. Errors: kBusy (a signal
  /// has come before all of them were taken), kLimit (no room for too long), and what the disk
  /// says.
  Result<void> put(std::vector<Message> messages) {
    std::span<Message> left(messages);
    auto since = Clock::now();
    while (!left.empty()) {
      base::Error error;
      const std::size_t taken = queue_.enqueue(left, spool::Delay::kNone, &error);
      left = left.subspan(taken);
      if (left.empty()) break;
      if (taken > 0) since = Clock::now();
      if (error.code == ErrorCode::kDenied) {
        // What the marks discard is what was asked for.
        left = left.subspan(1);
        continue;
      }
      if (may_wait(error, since)) continue;
      return fail(error.code, fmt::format("{}: {} lines that were read were not taken",
                                          error.message, left.size()));
    }
    return {};
  }

 private:
  using Clock = std::chrono::steady_clock;

  /// Waits a moment, if there may be room after it. False: there is none for ERROR, which may tell
  /// of a signal then.
  bool may_wait(base::Error& error, Clock::time_point since) {
    const bool is_full_disk = error.code == ErrorCode::kNoSpace;
    if (!is_full_disk && error.code != ErrorCode::kLimit) return false;
    if (patience_ != spool::kEternal && Clock::now() - since >= patience_) {
      error.message =
          fmt::format("{} for queue.timeoutenqueue ({} ms)",
                      is_full_disk ? error.message : "the queue has been full", patience_.count());
      return false;
    }
    if (is_full_disk && !std::exchange(was_told_, true)) {
      report(error.message + ": waiting for room");
    }
    signals_.wait(-1, is_full_disk ? kTryAgain : 0);
    if (signals_.received() == 0) return true;
    error = {ErrorCode::kBusy, "asked to end"};
    return false;
  }

  spool::Queue& queue_;
  StopSignals& signals_;
  spool::milliseconds patience_;
  bool was_told_ = false;
};

/// The queue, if need be after a moment.
Result<std::unique_ptr<spool::Queue>> start_queue(const spool::QueueOptions& options,
                                                  StopSignals& signals) {
  for (int tries = 1;; ++tries) {
    auto queue = spool::Queue::start(options, {}, report);
    const bool is_busy = !queue && queue.error().code == ErrorCode::kBusy;
    if (!is_busy || tries == kMostTries || signals.received() != 0) return queue;
    signals.wait(-1, kTryAgain);
  }
}

Result<void> feed_all(Feeding feeding, Lines& lines, StopSignals& signals) {
  std::vector<char> buffer(kReadAtOnce);
  while (true) {
    if (!signals.wait(STDIN_FILENO, -1)) {
      if (signals.received() != 0) return {};
      continue;
    }
    const ssize_t count = ::read(STDIN_FILENO, buffer.data(), buffer.size());
    if (count < 0 && errno != EINTR && errno != EAGAIN) return base::fail_errno("standard input");
    if (count == 0) return feeding.put(lines.rest());
    if (count < 0) continue;
    QUARRY_TRY(feeding.put(lines.take({buffer.data(), static_cast<std::size_t>(count)})));
  }
}

Result<void> feed(const SpoolArguments& arguments, StopSignals& signals) {
  QUARRY_TRY_ASSIGN(auto options, options_of(arguments));
  const spool::milliseconds patience =
      is_given(arguments, "timeoutenqueue") ? options.timeout_enqueue : spool::kEternal;
  if (is_given(arguments, "fulldelaymark")) QUARRY_TRY(stop_at_full_delay_mark(options));
  // A signal is to be noticed meanwhile.
  options.timeout_enqueue = std::min(patience, spool::milliseconds(kTryAgain));
  QUARRY_TRY_ASSIGN(const auto queue, start_queue(options, signals));
  Lines lines(arguments.is_null ? '\0' : '\n', arguments.severity, spool::most_content(options));
  const auto fed = feed_all({*queue, signals, patience}, lines, signals);
  // The end may have to wait for room on the disk: another signal does not.
  if (signals.received() != 0) signals.let_go();
  const spool::Ending ending = queue->shutdown();
  QUARRY_TRY(fed);
  if (ending.lost > 0) {
    return fail(ErrorCode::kIo, fmt::format("{} messages could not be kept", ending.lost));
  }
  if (lines.left_out() == 0) return {};
  return fail(ErrorCode::kLimit,
              fmt::format("{} lines were too long, and are left out", lines.left_out()));
}

/// Tells of changes in a folder.
class Watch {
 public:
  explicit Watch(const std::string& folder) : fd_(::inotify_init1(IN_CLOEXEC | IN_NONBLOCK)) {
    ::inotify_add_watch(fd_.get(), folder.c_str(), IN_MODIFY | IN_CREATE | IN_MOVED_TO);
  }
  int fd() const { return fd_.get(); }
  void forget() {
    std::array<char, 4096> events;
    while (::read(fd_.get(), events.data(), events.size()) > 0) {
    }
  }

 private:
  base::Fd fd_;
};

/// Writes TEXT, until a signal comes. Returns how many bytes were written; fewer only then, or with
/// *error set. Never in a write that blocks: whoever reads may have stopped.
std::size_t write_text(std::string_view text, StopSignals& signals,
                       std::optional<base::Error>& error) {
  std::size_t done = 0;
  while (done < text.size()) {
    if (!signals.wait_to_write(STDOUT_FILENO)) break;
    const ssize_t count = ::write(STDOUT_FILENO, text.data() + done,
                                  std::min<std::size_t>(text.size() - done, PIPE_BUF));
    if (count < 0 && (errno == EINTR || errno == EAGAIN)) continue;
    if (count < 0) {
      error = base::fail_errno("standard output").error();
      break;
    }
    done += static_cast<std::size_t>(count);
  }
  return done;
}

/// Writes MESSAGES. Returns how many were written whole.
std::size_t write_messages(const std::vector<Message>& messages, char end, StopSignals& signals,
                           std::optional<base::Error>& error) {
  std::string text;
  for (const Message& message : messages) (text += message.content) += end;
  std::size_t left = write_text(text, signals, error);
  std::size_t whole = 0;
  while (whole < messages.size() && messages[whole].content.size() < left) {
    left -= messages[whole++].content.size() + 1;
  }
  return whole;
}

Result<void> drain(const SpoolArguments& arguments, StopSignals& signals) {
  QUARRY_TRY_ASSIGN(const auto options, options_of(arguments));
  QUARRY_TRY(base::FileSystem::real().make_folder(arguments.folder));
  Watch watch(arguments.folder);
  QUARRY_TRY_ASSIGN(const auto drain,
                    spool::Drain::open({arguments.folder, arguments.filename}, options, report));
  const char end = arguments.is_null ? '\0' : '\n';
  std::optional<base::Error> error;
  while (signals.received() == 0 && !error) {
    watch.forget();
    QUARRY_TRY_ASSIGN(const auto messages, drain->next(options.dequeue_batch_size));
    if (!messages.empty()) {
      drain->settle(write_messages(messages, end, signals, error));
    } else if (arguments.follow) {
      signals.wait(watch.fd(), kLookAgain);
    } else {
      break;
    }
  }
  QUARRY_TRY(drain->finish());
  if (error) return std::unexpected(*error);
  return {};
}

int run(const SpoolArguments& arguments,
        Result<void> (*action)(const SpoolArguments&, StopSignals&)) {
  StopSignals signals;
  const auto done = action(arguments, signals);
  if (!done) return failed(done.error());
  return signals.received() != 0 ? end_by(signals.received()) : kDone;
}

}  // namespace

int run_spool_feed(const SpoolArguments& arguments) {
  return run(arguments, feed);
}
int run_spool_drain(const SpoolArguments& arguments) {
  return run(arguments, drain);
}

}  // namespace quarry::app
