// A stream on files in memory or on real files, with a clock that only the test advances.
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

struct MovedClock : base::Clock {
  base::UnixMillis now() const override { return time; }
  void pass(milliseconds by) { time.value += by.count(); }
  base::UnixMillis time{1'700'000'000'000};
};

inline StreamOptions stream_options(bool synced = true) {
  return {.location = {.folder = "/spool", .name = "s"}, .max_file_size = 1024, .sync = synced};
}

/// Returns a message with NUMBER in its content. The message's record is about 40 bytes long.
inline NewMessage numbered_message(std::uint64_t number) {
  return {.content = "message " + std::to_string(number), .key = "k" + std::to_string(number)};
}

/// A stream that a test can close and open again. `reported` contains its reports.
struct StreamWorld {
  explicit StreamWorld(base::FileSystem& its, StreamOptions how = stream_options())
      : system(its), options(std::move(how)) {
    open();
  }

  /// Opens the stream. If that fails, returns false and sets `reported` to the reason.
  bool try_open() {
    auto opened =
        Stream::open(options, [this](const std::string& line) { reported += line + "\n"; },
                     {.files = system, .clock = clock, .random = [this] { return random; }});
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

  /// Appends the numbers FIRST to LAST in one call.
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
  /// Returns the names of all subscriptions.
  std::vector<std::string> names() const {
    std::vector<std::string> all;
    for (const auto& one : stream->statistics()) all.push_back(one.name);
    return all;
  }
  /// Returns the dead letters of the subscription NAME.
  std::vector<StreamedMessage> dead_letters(const std::string& name) const {
    std::vector<StreamedMessage> all;
    const auto take = [&all](const StreamedMessage& one) {
      all.push_back(one);
      return true;
    };
    REQUIRE(visit_dead_letters(
        options.location, name, take, [](const std::string&) {}, system));
    return all;
  }
  StreamStatus status() const {
    const auto found = stream_status(options.location, system);
    REQUIRE(found);
    return *found;
  }
  bool is_reported(const std::string& what) const { return reported.contains(what); }

  base::FileSystem& system;
  StreamOptions options;
  MovedClock clock;
  double random = 0;
  std::string reported;
  std::unique_ptr<Stream> stream;
};

struct OwnFiles {
  MemoryFileSystem files;
};
struct OwnWorld : OwnFiles, StreamWorld {
  explicit OwnWorld(const MemoryFileSystem::Image& image = {},
                    const StreamOptions& how = stream_options())
      : OwnFiles{MemoryFileSystem(image)}, StreamWorld(files, how) {}
};
/// A stream with the subscription "mail".
struct MailWorld : OwnWorld {
  using OwnWorld::OwnWorld;
  /// Closes the stream and opens it again, like a new process.
  void restart() {
    mail.reset();
    reopen();
    mail = subscribe("mail", mail_options);
  }
  /// Changes the subscription's options to OF_MAIL.
  void set(const SubscriptionOptions& of_mail) {
    mail_options = of_mail;
    mail = subscribe("mail", of_mail);
  }

  SubscriptionOptions mail_options = {};
  std::shared_ptr<Subscription> mail = subscribe("mail", mail_options);
};

/// Takes at most MAX messages from SUBSCRIPTION and returns their ids.
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

/// Settles the messages FIRST to LAST, which must be in flight.
inline void settle(Subscription& subscription, std::uint64_t first, std::uint64_t last,
                   Outcome outcome = Outcome::kDone, const std::string& error = "") {
  std::vector<Settlement> all;
  for (std::uint64_t i = first; i <= last; ++i) {
    all.push_back({.sequence = i, .outcome = outcome, .error = error});
  }
  REQUIRE(subscription.settle(all));
}

/// Takes all available messages from SUBSCRIPTION, settles them with OUTCOME, and returns their
/// ids. If ERROR is set, settling must fail with that error.
inline std::vector<std::uint64_t> drain(Subscription& subscription,
                                        Outcome outcome = Outcome::kDone,
                                        std::optional<ErrorCode> error = std::nullopt,
                                        std::size_t at_once = 7) {
  std::vector<std::uint64_t> all;
  while (true) {
    const auto taken = subscription.take(at_once);
    REQUIRE(taken);
    if (taken->empty()) return all;
    std::vector<Settlement> settled;
    for (const StreamedMessage& message : *taken) {
      all.push_back(message.id);
      settled.push_back({.sequence = message.sequence, .outcome = outcome, .error = "away"});
    }
    const auto done = subscription.settle(settled);
    REQUIRE(done.has_value() != error.has_value());
    if (error) CHECK(done.error().code == *error);
  }
}

/// Returns the names of the stream's segments, except the segments of dead letters.
inline std::vector<std::string> segments_in(const MemoryFileSystem& files) {
  std::vector<std::string> names;
  for (const auto& [name, content] : files.image()) {
    if (name.starts_with("s.0")) names.push_back(name);
  }
  return names;
}

}  // namespace quarry::spool
