// quarry spool feed and drain: a pipe that survives either of its ends.
#include <fmt/core.h>
#include <sys/inotify.h>
#include <unistd.h>

#include <array>
#include <cerrno>
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

void report(const std::string& line) {
  fmt::print(stderr, "quarry: {}\n", line);
}

Result<spool::QueueOptions> options_of(const SpoolArguments& arguments) {
  spool::QueueOptions options;
  options.spool_directory = arguments.folder;
  options.filename = arguments.filename;
  // A pipe loses nothing by itself: who is in a hurry says so.
  options.save_on_shutdown = true;
  options.timeout_enqueue = options.timeout_shutdown = spool::kEternal;
  options.checkpoint_interval = 1;
  options.dequeue_batch_size = 1000;
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

Result<void> enqueue(spool::Queue& queue, std::vector<Message> messages) {
  std::span<Message> left(messages);
  while (!left.empty()) {
    base::Error error;
    left = left.subspan(queue.enqueue(left, spool::Delay::kFull, &error));
    if (left.empty()) break;
    // What the marks discard is what was asked for.
    if (error.code != ErrorCode::kDenied) return std::unexpected(error);
    left = left.subspan(1);
  }
  return {};
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
    if (count == 0) return enqueue(queue, lines.rest());
    if (count < 0) continue;
    QUARRY_TRY_ASSIGN(auto messages,
                      lines.take(std::string_view(buffer.data(), static_cast<std::size_t>(count))));
    QUARRY_TRY(enqueue(queue, std::move(messages)));
  }
}

Result<void> feed(const SpoolArguments& arguments, StopSignals& signals) {
  QUARRY_TRY_ASSIGN(const auto options, options_of(arguments));
  QUARRY_TRY_ASSIGN(const auto queue, spool::Queue::start(options, {}, report));
  const auto fed = feed_all(*queue, arguments, signals);
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

Result<void> write_all(std::string_view text) {
  while (!text.empty()) {
    const ssize_t count = ::write(STDOUT_FILENO, text.data(), text.size());
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return base::fail_errno("standard output");
    text.remove_prefix(static_cast<std::size_t>(count));
  }
  return {};
}

Result<void> drain(const SpoolArguments& arguments, StopSignals& signals) {
  QUARRY_TRY_ASSIGN(const auto options, options_of(arguments));
  QUARRY_TRY(base::FileSystem::real().make_folder(arguments.folder));
  Watch watch(arguments.folder);
  QUARRY_TRY_ASSIGN(const auto drain,
                    spool::Drain::open({arguments.folder, arguments.filename}, options, report));
  const char end = arguments.is_null ? '\0' : '\n';
  while (signals.received() == 0) {
    watch.forget();
    const std::vector<Message> messages = drain->next(options.dequeue_batch_size);
    if (messages.empty()) {
      if (!arguments.follow) return drain->finish();
      signals.wait(watch.fd(), kLookAgain);
      continue;
    }
    std::string text;
    for (const Message& message : messages) (text += message.content) += end;
    QUARRY_TRY(write_all(text));
    drain->settle();
    signals.wait(-1, 0);
  }
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
