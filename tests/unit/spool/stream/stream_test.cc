// A stream in normal operation: subscriptions, what they share, and restarts.
#include "quarry/spool/stream.h"

#include <doctest/doctest.h>

#include <numeric>

#include "stream_world.h"

using namespace quarry::spool;
using namespace std::chrono_literals;
using quarry::base::ErrorCode;

TEST_CASE("a subscription gets each message once, in order, with its id, time and key") {
  MemoryFileSystem files;
  StreamWorld world(files);
  const auto mail = world.subscribe("mail");
  world.append(1, 3);
  world.clock.pass(5s);
  world.append(4, 4);
  const auto taken = mail->take(10);
  REQUIRE(taken);
  REQUIRE(taken->size() == 4);
  for (std::uint64_t i = 1; i <= 4; ++i) {
    const StreamedMessage& message = taken->at(i - 1);
    CHECK(message.id == i);
    CHECK(message.content == "message " + std::to_string(i));
    CHECK(message.key == "k" + std::to_string(i));
    CHECK(message.attempts == 1);
    CHECK(message.taken_at.value == world.clock.time.value - (i < 4 ? 5000 : 0));
  }
  CHECK(take_ids(*mail).empty());
  settle(*mail, 1, 4);
  CHECK(take_ids(*mail).empty());
  CHECK(mail->statistics().delivered == 4);
}

TEST_CASE("ids continue across restarts, even if everything was delivered") {
  MemoryFileSystem files;
  StreamWorld world(files);
  world.subscribe("mail");
  for (std::uint64_t i = 1; i <= 5; ++i) {
    world.append(i, i);
    CHECK(drain(*world.subscribe("mail")) == ids(i, i));
    world.reopen();
  }
  CHECK(world.stream->next_id() == 6);
}

TEST_CASE("single settlements persist across a restart, and only these") {
  MemoryFileSystem files;
  StreamWorld world(files);
  auto mail = world.subscribe("mail");
  world.append(1, 5);
  CHECK(take_ids(*mail) == ids(1, 5));
  settle(*mail, 2, 2);
  settle(*mail, 4, 4);
  settle(*mail, 5, 5, Outcome::kRetry, "try again");
  world.reopen();
  mail = world.subscribe("mail");
  CHECK(take_ids(*mail) == std::vector<std::uint64_t>{1, 3});
  world.clock.pass(1h);
  CHECK(take_ids(*mail) == std::vector<std::uint64_t>{5});
  settle(*mail, 1, 5);
  CHECK(mail->statistics().delivered == 5);
}

TEST_CASE("attempts are counted across a restart, but not those that were returned") {
  MemoryFileSystem files;
  StreamWorld world(files);
  auto mail = world.subscribe("mail");
  world.append(1, 1);
  REQUIRE(take_ids(*mail).size() == 1);
  settle(*mail, 1, 1, Outcome::kRetry, "refused");
  world.clock.pass(1h);
  REQUIRE(take_ids(*mail).size() == 1);
  // In flight when the stream ends.
  world.reopen();
  mail = world.subscribe("mail");
  auto taken = mail->take(1);
  REQUIRE((taken && taken->size() == 1));
  CHECK(taken->front().attempts == 2);
  settle(*mail, 1, 1, Outcome::kReturned);
  taken = mail->take(1);
  REQUIRE((taken && taken->size() == 1));
  CHECK(taken->front().attempts == 2);
}

TEST_CASE("ten subscriptions share one copy on the disk") {
  MemoryFileSystem files;
  StreamWorld world(files);
  for (int i = 0; i < 10; ++i) world.subscribe("sub" + std::to_string(i));
  const std::string content(1000, 'x');
  for (int i = 0; i < 100; ++i) {
    const NewMessage message{.content = content};
    REQUIRE(world.stream->append(std::span(&message, 1)));
  }
  const auto image = files.image();
  const std::size_t bytes =
      std::accumulate(image.begin(), image.end(), std::size_t{0},
                      [](std::size_t sum, const auto& file) { return sum + file.second.size(); });
  CHECK(bytes > 100 * content.size());
  CHECK(bytes < 110 * content.size());
  for (int i = 0; i < 10; ++i) {
    CHECK(drain(*world.subscribe("sub" + std::to_string(i))) == ids(1, 100));
  }
}

TEST_CASE("segments are removed when all remaining subscriptions have passed them") {
  MemoryFileSystem files;
  StreamWorld world(files);
  const auto fast = world.subscribe("fast");
  const auto slow = world.subscribe("slow");
  world.subscribe("away");
  world.append(1, 100);
  const std::size_t all = segments_in(files).size();
  REQUIRE(all > 4);
  CHECK(drain(*fast) == ids(1, 100));
  CHECK(segments_in(files).size() == all);
  REQUIRE(take_ids(*slow, 50).size() == 50);
  settle(*slow, 1, 50);
  CHECK(segments_in(files).size() == all);
  REQUIRE(world.stream->unsubscribe("away"));
  CHECK(segments_in(files).size() < all);
  CHECK(segments_in(files).size() > 1);
  CHECK(drain(*slow) == ids(51, 100));
  CHECK(segments_in(files).size() == 1);
  CHECK(world.stream->bytes() == files.image().at(segments_in(files).front()).size());
  CHECK(world.stream->subscriptions() == std::vector<std::string>{"fast", "slow"});
}

TEST_CASE("a postponed message keeps its segment, and later ones are delivered") {
  MemoryFileSystem files;
  StreamWorld world(files);
  const auto mail = world.subscribe("mail");
  world.append(1, 100);
  REQUIRE(take_ids(*mail, 100).size() == 100);
  settle(*mail, 1, 1, Outcome::kRetry, "greylisted");
  settle(*mail, 2, 100);
  const std::size_t held = segments_in(files).size();
  CHECK(held > 4);
  world.append(101, 200);
  CHECK(drain(*mail) == ids(101, 200));
  CHECK(segments_in(files).size() > held);
  world.clock.pass(1h);
  CHECK(drain(*mail) == ids(1, 1));
  CHECK(segments_in(files).size() == 1);
}

TEST_CASE("a new subscription begins at the end, or at the oldest message") {
  MemoryFileSystem files;
  StreamWorld world(files);
  world.subscribe("holder");
  world.append(1, 10);
  const auto late = world.subscribe("late");
  SubscriptionOptions all;
  all.from_beginning = true;
  const auto early = world.subscribe("early", all);
  world.append(11, 12);
  CHECK(drain(*late) == ids(11, 12));
  CHECK(drain(*early) == ids(1, 12));
  // Options do not change the position of an existing subscription.
  CHECK(drain(*world.subscribe("late", all)).empty());
}

TEST_CASE("a window full of postponed messages holds back the others without using memory") {
  MemoryFileSystem files;
  StreamWorld world(files);
  SubscriptionOptions narrow;
  narrow.window = 10;
  const auto mail = world.subscribe("mail", narrow);
  world.append(1, 30);
  CHECK(take_ids(*mail) == ids(1, 10));
  CHECK(take_ids(*mail).empty());
  settle(*mail, 1, 10, Outcome::kRetry);
  CHECK(take_ids(*mail).empty());
  CHECK(mail->statistics().postponed == 10);
  CHECK(mail->statistics().waiting == 30);
  world.clock.pass(1h);
  CHECK(take_ids(*mail) == ids(1, 10));
  settle(*mail, 1, 9);
  CHECK(take_ids(*mail) == ids(11, 19));
}

TEST_CASE("a batch is limited by its bytes, and the next one continues after it") {
  MemoryFileSystem files;
  StreamWorld world(files);
  const auto mail = world.subscribe("mail");
  const std::vector<NewMessage> large(7, {.content = std::string(3 << 20, 'x')});
  REQUIRE(world.stream->append(large));
  CHECK(take_ids(*mail) == ids(1, 3));
  CHECK(take_ids(*mail) == ids(4, 6));
  settle(*mail, 1, 6, Outcome::kRetry);
  world.clock.pass(1h);
  // Of retries, too.
  CHECK(take_ids(*mail).size() < 6);
  CHECK(mail->statistics().waiting == 7);
  CHECK(mail->statistics().unreadable == 0);
}

TEST_CASE("in order a postponed message holds back all later ones, in any batch") {
  MemoryFileSystem files;
  StreamWorld world(files);
  SubscriptionOptions ordered;
  ordered.in_order = true;
  const auto mail = world.subscribe("mail", ordered);
  world.append(1, 6);
  CHECK(take_ids(*mail, 4) == ids(1, 4));
  // No other consumer may begin with later messages.
  CHECK(take_ids(*mail).empty());
  settle(*mail, 1, 1);
  settle(*mail, 2, 2, Outcome::kRetry, "away");
  CHECK(take_ids(*mail).empty());
  CHECK(mail->statistics().in_flight == 0);
  world.clock.pass(1h);
  const auto taken = mail->take(2);
  REQUIRE((taken && taken->size() == 2));
  CHECK(taken->at(0).id == 2);
  CHECK(taken->at(0).attempts == 2);
  CHECK(taken->at(1).id == 3);
  CHECK(taken->at(1).attempts == 1);
  settle(*mail, 2, 3);
  CHECK(take_ids(*mail) == ids(4, 6));
}

TEST_CASE("delays grow with each failure, and a settlement may override the delay") {
  MemoryFileSystem files;
  StreamWorld world(files);
  SubscriptionOptions options;
  options.retry = {.base = 10s, .factor = 3, .most = 60s, .jitter = 0.5};
  const auto mail = world.subscribe("mail", options);
  world.append(1, 1);
  const auto comes_after = [&](milliseconds delay) {
    world.clock.pass(delay - 1ms);
    CHECK(take_ids(*mail).empty());
    world.clock.pass(1ms);
    return take_ids(*mail).size() == 1;
  };
  REQUIRE(take_ids(*mail).size() == 1);
  settle(*mail, 1, 1, Outcome::kRetry);
  CHECK(comes_after(10s));
  settle(*mail, 1, 1, Outcome::kRetry);
  CHECK(comes_after(30s));
  world.random = 0.5;
  settle(*mail, 1, 1, Outcome::kRetry);
  CHECK(comes_after(45s));
  const Settlement asked{.sequence = 1, .outcome = Outcome::kRetry, .delay = 7s};
  REQUIRE(mail->settle(std::span(&asked, 1)));
  CHECK(comes_after(7s));
}

TEST_CASE("a pause stops everything except messages in flight, also across a restart") {
  MemoryFileSystem files;
  StreamWorld world(files);
  auto mail = world.subscribe("mail");
  world.append(1, 4);
  REQUIRE(take_ids(*mail, 2).size() == 2);
  REQUIRE(mail->pause());
  settle(*mail, 1, 1);
  CHECK(take_ids(*mail).empty());
  world.reopen();
  mail = world.subscribe("mail");
  CHECK(mail->statistics().is_paused);
  CHECK(take_ids(*mail).empty());
  CHECK_FALSE(mail->wait(0ms));
  REQUIRE(mail->resume());
  CHECK(mail->wait(0ms));
  CHECK(drain(*mail) == ids(2, 4));
}

TEST_CASE("a purge deletes messages that wait or are in flight, and no later ones") {
  MemoryFileSystem files;
  StreamWorld world(files);
  auto mail = world.subscribe("mail");
  world.append(1, 50);
  REQUIRE(take_ids(*mail, 5).size() == 5);
  settle(*mail, 1, 1);
  settle(*mail, 2, 2, Outcome::kRetry);
  const auto purged = mail->purge();
  REQUIRE(purged);
  CHECK(*purged == 49);
  // A settlement of a deleted message has no effect.
  settle(*mail, 3, 3, Outcome::kRetry);
  world.clock.pass(1h);
  CHECK(take_ids(*mail).empty());
  world.append(51, 52);
  world.reopen();
  CHECK(drain(*world.subscribe("mail")) == ids(51, 52));
  CHECK(segments_in(files).size() <= 2);
}

TEST_CASE("statistics show waiting messages, the age of the oldest, and the last error") {
  MemoryFileSystem files;
  StreamWorld world(files);
  const auto start = world.clock.time;
  const auto mail = world.subscribe("mail");
  SubscriptionStatistics empty = mail->statistics();
  CHECK(empty.name == "mail");
  CHECK(empty.waiting == 0);
  CHECK_FALSE(empty.oldest);
  CHECK_FALSE(empty.last_error_at);
  world.append(1, 2);
  world.clock.pass(10s);
  world.append(3, 5);
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
  CHECK(figures.last_error_at == world.clock.time);
  CHECK(figures.delivered == 1);
  settle(*mail, 3, 3);
  world.reopen();
  const SubscriptionStatistics later = world.subscribe("mail")->statistics();
  CHECK(later.last_error == "451 try again");
  CHECK(later.waiting == 3);
  CHECK(later.delivered == 2);
  const auto status = stream_status(world.options.location, files);
  REQUIRE(status);
  CHECK(status->is_held);
  REQUIRE(status->subscriptions.size() == 1);
  CHECK(status->subscriptions[0].waiting == 3);
  CHECK(status->subscriptions[0].oldest == start);
}

TEST_CASE("an invalid name, window or directory is refused") {
  MemoryFileSystem files;
  StreamWorld world(files);
  for (const char* name : {"", "a.b", "a/b", "a b", "\xc3\xa4"}) {
    const auto made = world.stream->subscribe(name);
    REQUIRE_FALSE(made);
    CHECK(made.error().code == ErrorCode::kInvalid);
  }
  SubscriptionOptions none;
  none.window = 0;
  CHECK_FALSE(world.stream->subscribe("a", none));
  CHECK_FALSE(world.stream->subscribe("a", {.retry = {.base = 0ms}}));
  CHECK_FALSE(world.stream->unsubscribe("a"));
  const NewMessage large{.content = "x", .key = std::string(300, 'k')};
  CHECK_FALSE(world.stream->append(std::span(&large, 1)));
  StreamOptions dotted = stream_options();
  dotted.location.name = "a.b";
  CHECK_FALSE(Stream::open(dotted, {}, {.files = files}));
}

TEST_CASE("a stream has one holder, and is not a queue") {
  MemoryFileSystem files;
  const StreamWorld world(files);
  const auto second = Stream::open(world.options, {}, {.files = files});
  REQUIRE_FALSE(second);
  CHECK(second.error().code == ErrorCode::kBusy);
  CHECK(is_stream(world.options.location, files).value_or(false));
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
