// quarry spool feed and drain: a pipe that survives either of its ends.
#include <fmt/core.h>
#include <sys/inotify.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
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

Result<spool::QueueOptions> options_of(const SpoolArguments& arguments) {
  spool::QueueOptions options;
  options.spool_directory = arguments.folder;
  options.filename = arguments.filename;
  // A pipe loses nothing by itself: who is in a hurry says so.
  options.save_on_shutdown = true;
  options.timeout_enqueue = spool::milliseconds(kTryAgain);
  options.timeout_shutdown = spool::kEternal;
  options.checkpoint_interval = 1;
  options.dequeue_batch_size = 1000;
  // Who speaks of water marks wants them to count; else every line is safe as soon as it is read.
  const bool has_marks = std::ranges::any_of(arguments.parameters, [](const auto& parameter) {
    return parameter.first == "highwatermark" || parameter.first == "lowwatermark";
  });
  options.type = has_marks ? spool::QueueType::kMemory : spool::QueueType::kDisk;
  for (const auto& [name, value] : arguments.parameters) {
    QUARRY_TRY(spool::set_parameter(options, name, value));
  }
  return options;
}

/// Cuts what is read into messages.
class Lines {
 public:
  Lines(char end, std::uint8_t severity) : end_(end), severity_(severity) {}

  /// The messages that BYTES complete. Error: kLimit, one is too long.
  Result<std::vector<Message>> take(std::string_view bytes) {
    std::vector<Message> messages;
    for (std::size_t at = bytes.find(end_); at != std::string_view::npos; at = bytes.find(end_)) {
      begun_ += bytes.substr(0, at);
      bytes.remove_prefix(at + 1);
      messages.push_back({.content = std::exchange(begun_, {}), .severity = severity_});
      ++count_;
    }
    begun_ += bytes;
    if (begun_.size() <= spool::kMostContent) return messages;
    return fail(ErrorCode::kLimit, fmt::format("standard input: line {} has more than {} bytes",
                                               count_ + 1, spool::kMostContent));
  }
  /// The last one, which has no end.
  std::vector<Message> rest() {
    if (begun_.empty()) return {};
    return {{.content = std::exchange(begun_, {}), .severity = severity_}};
  }

 private:
  char end_;
  std::uint8_t severity_;
  std::string begun_;
  std::uint64_t count_ = 0;
};

/// Puts MESSAGES into QUEUE, and waits for room where there is none. Error: a signal has come
/// before all of them were taken, too.
Result<void> enqueue(spool::Queue& queue, std::vector<Message> messages, StopSignals& signals) {
  std::span<Message> left(messages);
  bool was_told = false;
  while (!left.empty()) {
    base::Error error;
    left = left.subspan(queue.enqueue(left, spool::Delay::kNone, &error));
    if (left.empty()) break;
    if (error.code == ErrorCode::kDenied) {
      // What the marks discard is what was asked for.
      left = left.subspan(1);
      continue;
    }
    const bool has_no_room = error.code == ErrorCode::kNoSpace || error.code == ErrorCode::kLimit;
    if (!has_no_room || left.front().content.size() > spool::kMostContent) {
      return std::unexpected(error);
    }
    if (error.code == ErrorCode::kNoSpace && !std::exchange(was_told, true)) {
      report(error.message + ": waiting for room");
    }
    signals.wait(-1, error.code == ErrorCode::kNoSpace ? kTryAgain : 0);
    if (signals.received() == 0) continue;
    return fail(ErrorCode::kBusy,
                fmt::format("{} lines that were read were not taken", left.size()));
  }
  return {};
}

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

Result<void> feed_all(spool::Queue& queue, const SpoolArguments& arguments, StopSignals& signals) {
  Lines lines(arguments.is_null ? '\0' : '\n', arguments.severity);
  std::vector<char> buffer(kReadAtOnce);
  while (true) {
    if (!signals.wait(STDIN_FILENO, -1)) {
      if (signals.received() != 0) return {};
      continue;
    }
    const ssize_t count = ::read(STDIN_FILENO, buffer.data(), buffer.size());
    if (count < 0 && errno != EINTR && errno != EAGAIN) return base::fail_errno("standard input");
    if (count == 0) return enqueue(queue, lines.rest(), signals);
    if (count < 0) continue;
    QUARRY_TRY_ASSIGN(auto messages,
                      lines.take(std::string_view(buffer.data(), static_cast<std::size_t>(count))));
    QUARRY_TRY(enqueue(queue, std::move(messages), signals));
  }
}

Result<void> feed(const SpoolArguments& arguments, StopSignals& signals) {
  QUARRY_TRY_ASSIGN(const auto options, options_of(arguments));
  QUARRY_TRY_ASSIGN(const auto queue, start_queue(options, signals));
  const auto fed = feed_all(*queue, arguments, signals);
  // The end may have to wait for room on the disk: another signal does not.
  if (signals.received() != 0) signals.let_go();
  const spool::Ending ending = queue->shutdown();
  QUARRY_TRY(fed);
  if (ending.lost == 0) return {};
  return fail(ErrorCode::kIo, fmt::format("{} messages were not taken", ending.lost));
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
