// A stream, on files in memory or real ones, with a clock that a test moves.
#pragma once

#include <doctest/doctest.h>

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "memory_file_system.h"
#include "quarry/base/time.h"
#include "quarry/spool/stream.h"

namespace quarry::spool {

/// Stands still until the test moves it.
struct MovedClock : base::Clock {
  base::UnixMillis now() const override { return time; }
  void pass(milliseconds by) { time.value += by.count(); }
  base::UnixMillis time{1'700'000'000'000};
};

inline StreamOptions stream_options(bool synced = true) {
  return {.location = {.folder = "/spool", .name = "s"},
          .max_file_size = 1024,
          .max_disk_space = 0,
          .sync = synced};
}

/// Each message contains its number; about forty bytes with its record.
inline NewMessage numbered_message(std::uint64_t number) {
  return {.content = "message " + std::to_string(number), .key = "k" + std::to_string(number)};
}

/// A stream that can be closed and opened again. Its reports are in `reported`.
struct StreamWorld {
  explicit StreamWorld(base::FileSystem& system, StreamOptions how = stream_options())
      : files(system), options(std::move(how)) {
    open();
  }

  /// Whether it could be opened; if not, `reported` has the reason.
  bool try_open() {
    auto opened =
        Stream::open(options, [this](const std::string& line) { reported += line + "\n"; },
                     {.files = files, .clock = clock, .random = [this] { return random; }});
    if (!opened) reported += opened.error().message + "\n";
    if (opened) stream = std::move(*opened);
    return opened.has_value();
  }
  void open() {
    CAPTURE(reported);
    REQUIRE(try_open());
  }
  void reopen() {
    stream.reset();
    open();
  }

  /// Appends numbers FIRST to LAST, in one call.
  void append(std::uint64_t first, std::uint64_t last) const {
    std::vector<NewMessage> messages;
    for (std::uint64_t i = first; i <= last; ++i) messages.push_back(numbered_message(i));
    const auto id = stream->append(messages);
    REQUIRE(id);
    CHECK(*id == first);
  }
  std::shared_ptr<Subscription> subscribe(const std::string& name,
                                          const SubscriptionOptions& how = {}) const {
    auto subscription = stream->subscribe(name, how);
    REQUIRE(subscription);
    return *subscription;
  }

  base::FileSystem& files;
  StreamOptions options;
  MovedClock clock;
  double random = 0;
  std::string reported;
  std::unique_ptr<Stream> stream;
};

/// The ids that SUBSCRIPTION returns now, at most MAX.
inline std::vector<std::uint64_t> take_ids(Subscription& subscription, std::size_t max = 1000) {
  const auto taken = subscription.take(max);
  REQUIRE(taken);
  std::vector<std::uint64_t> ids;
  for (const StreamedMessage& message : *taken) ids.push_back(message.id);
  return ids;
}

inline std::vector<std::uint64_t> ids(std::uint64_t first, std::uint64_t last) {
  std::vector<std::uint64_t> all;
  for (std::uint64_t i = first; i <= last; ++i) all.push_back(i);
  return all;
}

/// Settles the messages FIRST to LAST, which are in flight.
inline void settle(Subscription& subscription, std::uint64_t first, std::uint64_t last,
                   Outcome outcome = Outcome::kDone, const std::string& error = "") {
  std::vector<Settlement> all;
  for (std::uint64_t i = first; i <= last; ++i) {
    all.push_back({.sequence = i, .outcome = outcome, .error = error});
  }
  REQUIRE(subscription.settle(all));
}

/// Takes and settles all messages that SUBSCRIPTION returns now.
inline std::vector<std::uint64_t> drain(Subscription& subscription) {
  std::vector<std::uint64_t> all;
  while (true) {
    const auto taken = subscription.take(7);
    REQUIRE(taken);
    if (taken->empty()) return all;
    std::vector<Settlement> done;
    for (const StreamedMessage& message : *taken) {
      all.push_back(message.id);
      done.push_back({.sequence = message.sequence});
    }
    REQUIRE(subscription.settle(done));
  }
}

/// The segments of the stream itself.
inline std::vector<std::string> segments_in(const MemoryFileSystem& files) {
  std::vector<std::string> names;
  for (const auto& [name, content] : files.image()) {
    if (name.starts_with("s.0")) names.push_back(name);
  }
  return names;
}

}  // namespace quarry::spool
