#include "quarry/spool/stream.h"

#include <doctest/doctest.h>

#include <numeric>

#include "stream_world.h"

using namespace quarry::spool;
using namespace std::chrono_literals;
using quarry::base::ErrorCode;

TEST_CASE_FIXTURE(MailWorld,
                  "a subscription gets each message once, in order, with its id, time and key") {
  append(1, 3);
  clock.pass(5s);
  append(4, 4);
  const auto taken = mail->take(10);
  REQUIRE(taken);
  REQUIRE(taken->size() == 4);
  for (std::uint64_t i = 1; i <= 4; ++i) {
    const StreamedMessage& message = taken->at(i - 1);
    CHECK(message.id == i);
    CHECK(message.content == "message " + std::to_string(i));
    CHECK(message.key == "k" + std::to_string(i));
    CHECK(message.attempts == 1);
    CHECK(message.taken_at.value == clock.time.value - (i < 4 ? 5000 : 0));
  }
  CHECK(take_ids(*mail).empty());
  settle(*mail, 1, 4);
  CHECK(take_ids(*mail).empty());
  CHECK(mail->statistics().delivered == 4);
}

TEST_CASE_FIXTURE(MailWorld, "ids continue across restarts, even if everything was delivered") {
  for (std::uint64_t i = 1; i <= 5; ++i) {
    append(i, i);
    CHECK(drain(*mail) == ids(i, i));
    restart();
  }
}

TEST_CASE_FIXTURE(MailWorld, "single settlements persist across a restart, and only these") {
  append(1, 5);
  CHECK(take_ids(*mail) == ids(1, 5));
  settle(*mail, 2, 2);
  settle(*mail, 4, 4);
  settle(*mail, 5, 5, Outcome::kRetry, "try again");
  restart();
  CHECK(take_ids(*mail) == std::vector<std::uint64_t>{1, 3});
  clock.pass(1h);
  CHECK(take_ids(*mail) == std::vector<std::uint64_t>{5});
  settle(*mail, 1, 5);
  CHECK(mail->statistics().delivered == 5);
}

TEST_CASE_FIXTURE(MailWorld,
                  "attempts are counted across a restart, but not those that were returned") {
  append(1, 1);
  REQUIRE(take_ids(*mail).size() == 1);
  settle(*mail, 1, 1, Outcome::kRetry, "refused");
  clock.pass(1h);
  REQUIRE(take_ids(*mail).size() == 1);
  // The message is in flight when the stream is closed.
  restart();
  auto taken = mail->take(1);
  REQUIRE((taken && taken->size() == 1));
  CHECK(taken->front().attempts == 2);
  settle(*mail, 1, 1, Outcome::kReturned);
  taken = mail->take(1);
  REQUIRE((taken && taken->size() == 1));
  CHECK(taken->front().attempts == 2);
}

TEST_CASE_FIXTURE(OwnWorld, "ten subscriptions share one copy on the disk") {
  for (int i = 0; i < 10; ++i) subscribe("sub" + std::to_string(i));
  const std::string content(1000, 'x');
  for (int i = 0; i < 100; ++i) {
    const NewMessage message{.content = content};
    REQUIRE(stream->append(std::span(&message, 1)));
  }
  const auto image = files.image();
  const std::size_t bytes =
      std::accumulate(image.begin(), image.end(), std::size_t{0},
                      [](std::size_t sum, const auto& file) { return sum + file.second.size(); });
  CHECK(bytes > 100 * content.size());
  CHECK(bytes < 110 * content.size());
  for (int i = 0; i < 10; ++i) {
    CHECK(drain(*subscribe("sub" + std::to_string(i))) == ids(1, 100));
  }
}

TEST_CASE_FIXTURE(OwnWorld,
                  "segments are removed when all remaining subscriptions have passed them") {
  const auto fast = subscribe("fast");
  const auto slow = subscribe("slow");
  subscribe("away");
  append(1, 100);
  const std::size_t all = segments_in(files).size();
  REQUIRE(all > 4);
  CHECK(drain(*fast) == ids(1, 100));
  CHECK(segments_in(files).size() == all);
  REQUIRE(take_ids(*slow, 50).size() == 50);
  settle(*slow, 1, 50);
  CHECK(segments_in(files).size() == all);
  REQUIRE(stream->unsubscribe("away"));
  CHECK(segments_in(files).size() < all);
  CHECK(segments_in(files).size() > 1);
  CHECK(drain(*slow) == ids(51, 100));
  CHECK(segments_in(files).size() == 1);
  CHECK(status().bytes == files.image().at(segments_in(files).front()).size());
  CHECK(names() == std::vector<std::string>{"fast", "slow"});
}

TEST_CASE_FIXTURE(MailWorld,
                  "a postponed message keeps its segment, and later ones are delivered") {
  append(1, 100);
  REQUIRE(take_ids(*mail, 100).size() == 100);
  settle(*mail, 1, 1, Outcome::kRetry, "greylisted");
  settle(*mail, 2, 100);
  const std::size_t held = segments_in(files).size();
  CHECK(held > 4);
  append(101, 200);
  CHECK(drain(*mail) == ids(101, 200));
  CHECK(segments_in(files).size() > held);
  clock.pass(1h);
  CHECK(drain(*mail) == ids(1, 1));
  CHECK(segments_in(files).size() == 1);
}

TEST_CASE_FIXTURE(MailWorld, "a new subscription begins at the end, an existing one where it was") {
  append(1, 10);
  const auto late = subscribe("late");
  append(11, 12);
  CHECK(drain(*late) == ids(11, 12));
  CHECK(drain(*subscribe("late")).empty());
  CHECK(drain(*subscribe("mail")) == ids(1, 12));
}

TEST_CASE_FIXTURE(
    MailWorld, "a window full of postponed messages holds back the others without using memory") {
  set({.window = 10});
  append(1, 30);
  CHECK(take_ids(*mail) == ids(1, 10));
  CHECK(take_ids(*mail).empty());
  settle(*mail, 1, 10, Outcome::kRetry);
  CHECK(take_ids(*mail).empty());
  CHECK(mail->statistics().postponed == 10);
  CHECK(mail->statistics().waiting == 30);
  clock.pass(1h);
  CHECK(take_ids(*mail) == ids(1, 10));
  settle(*mail, 1, 9);
  CHECK(take_ids(*mail) == ids(11, 19));
}

TEST_CASE_FIXTURE(MailWorld,
                  "a batch is limited by its bytes, and the next one continues after it") {
  const std::vector<NewMessage> large(7, {.content = std::string(3 << 20, 'x')});
  REQUIRE(stream->append(large));
  CHECK(take_ids(*mail) == ids(1, 3));
  CHECK(take_ids(*mail) == ids(4, 6));
  settle(*mail, 1, 6, Outcome::kRetry);
  clock.pass(1h);
  // The limit also applies to retries.
  CHECK(take_ids(*mail).size() < 6);
  CHECK(mail->statistics().waiting == 7);
  CHECK(mail->statistics().unreadable == 0);
}

TEST_CASE_FIXTURE(MailWorld,
                  "in order a postponed message holds back all later ones, in any batch") {
  set({.in_order = true});
  append(1, 6);
  CHECK(take_ids(*mail, 4) == ids(1, 4));
  // With in_order, a second consumer does not get later messages.
  CHECK(take_ids(*mail).empty());
  settle(*mail, 1, 1);
  settle(*mail, 2, 2, Outcome::kRetry, "away");
  CHECK(take_ids(*mail).empty());
  CHECK(mail->statistics().in_flight == 0);
  clock.pass(1h);
  const auto taken = mail->take(2);
  REQUIRE((taken && taken->size() == 2));
  CHECK(taken->at(0).id == 2);
  CHECK(taken->at(0).attempts == 2);
  CHECK(taken->at(1).id == 3);
  CHECK(taken->at(1).attempts == 1);
  settle(*mail, 2, 3);
  CHECK(take_ids(*mail) == ids(4, 6));
}

TEST_CASE_FIXTURE(MailWorld,
                  "delays grow with each failure, and a settlement may override the delay") {
  set({.retry = {.base = 10s, .max = 30s}});
  append(1, 1);
  const auto comes_after = [&](milliseconds delay) {
    clock.pass(delay - 1ms);
    CHECK(take_ids(*mail).empty());
    clock.pass(1ms);
    return take_ids(*mail).size() == 1;
  };
  REQUIRE(take_ids(*mail).size() == 1);
  settle(*mail, 1, 1, Outcome::kRetry);
  CHECK(comes_after(10s));
  settle(*mail, 1, 1, Outcome::kRetry);
  CHECK(comes_after(20s));
  random = 0.5;
  settle(*mail, 1, 1, Outcome::kRetry);
  CHECK(comes_after(28'500ms));
  const Settlement asked{.sequence = 1, .outcome = Outcome::kRetry, .delay = 7s};
  REQUIRE(mail->settle(std::span(&asked, 1)));
  CHECK(comes_after(7s));
}

TEST_CASE_FIXTURE(MailWorld, "waiting ends when there are messages, at its limit, and when woken") {
  CHECK_FALSE(mail->wait(0ms));
  mail->wake();
  CHECK_FALSE(mail->wait(1h));
  append(1, 1);
  CHECK(mail->wait(0ms));
}

TEST_CASE_FIXTURE(MailWorld,
                  "statistics show waiting messages, the age of the oldest, and the last error") {
  const auto start = clock.time;
  SubscriptionStatistics empty = mail->statistics();
  CHECK(empty.name == "mail");
  CHECK(empty.waiting == 0);
  CHECK_FALSE(empty.oldest);
  CHECK_FALSE(empty.last_error_at);
  append(1, 2);
  clock.pass(10s);
  append(3, 5);
  CHECK(mail->statistics().oldest == start);
  REQUIRE(take_ids(*mail, 3).size() == 3);
  settle(*mail, 1, 1);
  settle(*mail, 2, 2, Outcome::kRetry, "451 try again");
  const SubscriptionStatistics figures = mail->statistics();
  CHECK(figures.waiting == 4);
  CHECK(figures.in_flight == 1);
  CHECK(figures.postponed == 1);
  CHECK(figures.head_attempts == 1);
  CHECK(figures.oldest == start);
  CHECK(figures.last_error == "451 try again");
  CHECK(figures.last_error_at == clock.time);
  CHECK(figures.delivered == 1);
  settle(*mail, 3, 3);
  restart();
  const SubscriptionStatistics later = mail->statistics();
  CHECK(later.last_error == "451 try again");
  CHECK(later.waiting == 3);
  CHECK(later.delivered == 2);
  const StreamStatus found = status();
  CHECK(found.is_held);
  REQUIRE(found.subscriptions.size() == 1);
  CHECK(found.subscriptions[0].waiting == 3);
  CHECK(found.subscriptions[0].oldest == start);
}

TEST_CASE_FIXTURE(MailWorld, "an invalid name, window or directory is refused") {
  for (const char* name : {"", "a.b", "a/b", "a b", "\xc3\xa4"}) {
    const auto made = stream->subscribe(name);
    REQUIRE_FALSE(made);
    CHECK(made.error().code == ErrorCode::kInvalid);
  }
  CHECK_FALSE(stream->subscribe("a", {.window = 0}));
  CHECK_FALSE(stream->subscribe("a", {.retry = {.base = 0ms}}));
  CHECK_FALSE(stream->subscribe("a", {.retry = {.base = 2s, .max = 1s}}));
  CHECK_FALSE(stream->unsubscribe("a"));
  const NewMessage large{.content = "x", .key = std::string(300, 'k')};
  CHECK_FALSE(stream->append(std::span(&large, 1)));
  StreamOptions dotted = stream_options();
  dotted.location.name = "a.b";
  CHECK_FALSE(Stream::open(dotted, {}, {.files = files}));
}

TEST_CASE_FIXTURE(OwnWorld, "a stream has one holder, and is not a queue") {
  const auto second = Stream::open(options, {}, {.files = files});
  REQUIRE_FALSE(second);
  CHECK(second.error().code == ErrorCode::kBusy);
  CHECK(is_stream(options.location, files).value_or(false));
  const SpoolLocation other{.folder = "/spool", .name = "t"};
  CHECK_FALSE(is_stream(other, files).value_or(true));
  QueueOptions queue;
  queue.type = QueueType::kDisk;
  queue.spool_directory = "/spool";
  queue.filename = "t";
  { REQUIRE(Queue::start(queue, {}, {}, files).value()->enqueue({.content = "x"})); }
  StreamOptions over = stream_options();
  over.location = other;
  const auto taken = Stream::open(over, {}, {.files = files});
  REQUIRE_FALSE(taken);
  CHECK(taken.error().code == ErrorCode::kInvalid);
}
