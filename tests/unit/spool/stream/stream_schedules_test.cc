// Runs the stream's real code in all schedules of its threads, up to the bounds in
// scheduled_threading.h.
#include <doctest/doctest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "all_schedules.h"
#include "memory_file_system.h"
#include "quarry/spool/stream.h"

using namespace quarry::spool;

namespace {

struct StillClock : quarry::base::Clock {
  quarry::base::UnixMillis now() const override { return {1'700'000'000'000}; }
};

/// A stream with one subscription in a schedule.
struct StreamLife {
  StreamLife() {
    auto opened =
        Stream::open({.location = {.folder = "/spool", .name = "s"}, .max_file_size = 1024}, {},
                     {.files = system, .clock = clock, .random = [] { return 0.0; }});
    stream = std::move(*opened);
    mail = *stream->subscribe("mail");
  }
  void append(std::size_t count) {
    const std::vector<NewMessage> messages(count, {.content = std::string(300, 'x')});
    schedule::require(stream->append(messages).has_value(), "not appended");
  }
  /// Delivers the messages that are currently available.
  void deliver() {
    const auto taken = mail->take(3);
    schedule::require(taken.has_value(), "not taken");
    for (const StreamedMessage& message : *taken) {
      got.push_back(message.id);
      const Settlement one{.sequence = message.sequence};
      schedule::require(mail->settle(std::span(&one, 1)).has_value(), "not settled");
    }
  }
  /// Delivers messages until COUNT of them are delivered.
  void deliver_all(std::size_t count) {
    while (got.size() < count) {
      schedule::require(mail->wait(kEternal), "it was not woken");
      deliver();
    }
  }
  void check(std::size_t count) {
    std::string text;
    for (const std::uint64_t id : got) text += std::to_string(id) + " ";
    std::ranges::sort(got);
    for (std::size_t i = 0; i < got.size(); ++i) schedule::require(got[i] == i + 1, "got " + text);
    const SubscriptionStatistics figures = mail->statistics();
    schedule::require(got.size() == count && figures.waiting == 0, "got " + text);
    schedule::require(figures.unreadable == 0, "taken for lost");
  }

  MemoryFileSystem system;
  StillClock clock;
  std::unique_ptr<Stream> stream;
  std::shared_ptr<Subscription> mail;
  std::vector<std::uint64_t> got;
};

}  // namespace

TEST_CASE("in all schedules: a take during appends loses no message, and is woken for each") {
  in_all(2, 0, [] {
    StreamLife life;
    Thread appender([&] {
      life.append(2);
      life.append(1);
    });
    life.deliver_all(3);
    appender.join();
    life.check(3);
  });
}

TEST_CASE("in all schedules: concurrent appends get distinct ids") {
  in_all(2, 0, [] {
    StreamLife life;
    Thread one([&] { life.append(1); });
    Thread other([&] { life.append(2); });
    one.join();
    other.join();
    life.deliver_all(3);
    life.check(3);
  });
}

TEST_CASE("in all schedules: two consumers of one subscription get each message once") {
  in_all(2, 0, [] {
    StreamLife life;
    life.append(5);
    Thread other([&] { life.deliver(); });
    life.deliver();
    other.join();
    life.deliver();
    life.check(5);
  });
}
