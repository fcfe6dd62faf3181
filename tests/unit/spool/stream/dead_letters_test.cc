// Dead letters: they are kept, listed, and replayed on request.
#include <doctest/doctest.h>

#include <array>
#include <string>
#include <vector>

#include "stream_world.h"

using namespace quarry;
using namespace quarry::spool;
using namespace std::chrono_literals;

namespace {

std::vector<StreamedMessage> dead_letters(Subscription& subscription) {
  std::vector<StreamedMessage> all;
  REQUIRE(subscription.visit_dead([&all](const StreamedMessage& message) {
    all.push_back(message);
    return true;
  }));
  return all;
}

SubscriptionOptions three_attempts() {
  SubscriptionOptions options;
  options.max_attempts = 3;
  return options;
}

}  // namespace

TEST_CASE("a message that fails too often becomes a dead letter with all its fields") {
  MemoryFileSystem files;
  StreamWorld world(files);
  const auto start = world.clock.time;
  auto mail = world.subscribe("mail", three_attempts());
  world.append(1, 3);
  for (int attempt = 1; attempt <= 3; ++attempt) {
    REQUIRE(take_ids(*mail, 1) == ids(1, 1));
    CHECK(dead_letters(*mail).empty());
    settle(*mail, 1, 1, Outcome::kRetry, "refused " + std::to_string(attempt));
    world.clock.pass(1h);
  }
  CHECK(drain(*mail) == ids(2, 3));
  world.reopen();
  mail = world.subscribe("mail", three_attempts());
  CHECK(drain(*mail).empty());
  const auto dead = dead_letters(*mail);
  REQUIRE(dead.size() == 1);
  CHECK(dead[0].id == 1);
  CHECK(dead[0].attempts == 3);
  CHECK(dead[0].error == "refused 3");
  CHECK(dead[0].content == "message 1");
  CHECK(dead[0].key == "k1");
  CHECK(dead[0].taken_at == start);
  const SubscriptionStatistics figures = mail->statistics();
  CHECK(figures.given_up == 1);
  CHECK(figures.dead == 1);
  CHECK(figures.delivered == 2);
}

TEST_CASE("the status during the first dead letter shows the subscription without it") {
  MemoryFileSystem files;
  StreamWorld world(files);
  const auto mail = world.subscribe("mail", three_attempts());
  // The first file of their stream exists, and their subscription does not yet.
  const auto ours = files.open("/spool/s.stream", base::FileUse::kRead);
  const auto theirs = files.open("/spool/s.mail.dead.stream", base::FileUse::kMake);
  REQUIRE(ours);
  REQUIRE(theirs);
  std::array<char, 256> bytes{};
  const auto size = (*ours)->read_at(0, bytes);
  REQUIRE(size);
  REQUIRE((*theirs)->append({bytes.data(), *size}));
  const auto status = stream_status(world.options.location, files);
  REQUIRE(status);
  REQUIRE(status->subscriptions.size() == 1);
  CHECK(status->subscriptions[0].dead == 0);
}

TEST_CASE("replayed dead letters return unchanged, to their subscription only") {
  MemoryFileSystem files;
  StreamWorld world(files);
  const auto start = world.clock.time;
  const auto mail = world.subscribe("mail");
  const auto hook = world.subscribe("hook");
  world.append(1, 5);
  REQUIRE(take_ids(*mail).size() == 5);
  settle(*mail, 2, 3, Outcome::kGivenUp, "no such user");
  settle(*mail, 1, 5);
  CHECK(drain(*hook) == ids(1, 5));
  world.clock.pass(1h);
  const auto count = mail->replay_dead();
  REQUIRE(count);
  CHECK(*count == 2);
  CHECK(dead_letters(*mail).empty());
  CHECK(drain(*hook).empty());
  const auto again = mail->take(10);
  REQUIRE((again && again->size() == 2));
  CHECK(again->at(0).id == 2);
  CHECK(again->at(0).sequence == 6);
  CHECK(again->at(0).key == "k2");
  CHECK(again->at(0).content == "message 2");
  CHECK(again->at(0).attempts == 1);
  CHECK(again->at(0).taken_at == start);
  settle(*mail, 6, 7);
  world.append(8, 8);
  CHECK(drain(*hook) == ids(8, 8));
  CHECK(drain(*mail) == ids(8, 8));
  CHECK(mail->statistics().waiting == 0);
  CHECK(hook->statistics().waiting == 0);
}

TEST_CASE("dead letters can be purged, and go with their subscription") {
  MemoryFileSystem files;
  StreamWorld world(files);
  const auto mail = world.subscribe("mail");
  world.append(1, 2);
  REQUIRE(take_ids(*mail).size() == 2);
  settle(*mail, 1, 2, Outcome::kGivenUp, "gone");
  CHECK(mail->purge_dead().value_or(0) == 2);
  CHECK(dead_letters(*mail).empty());
  CHECK(mail->statistics().dead == 0);
  CHECK(mail->statistics().given_up == 2);
  REQUIRE(world.stream->unsubscribe("mail"));
  for (const auto& [name, content] : files.image()) {
    CAPTURE(name);
    CHECK_FALSE(name.starts_with("s.mail"));
  }
  CHECK_FALSE(mail->take(1));
  CHECK_FALSE(mail->statistics().waiting > 0);
}

TEST_CASE("a message whose delivery kills the process is given up after its attempts") {
  MemoryFileSystem files;
  std::uint32_t attempts = 0;
  MemoryFileSystem::Image image;
  for (int life = 0; life < 4; ++life) {
    MemoryFileSystem found(image);
    StreamWorld world(found);
    const auto mail = world.subscribe("mail", three_attempts());
    if (life == 0) world.append(1, 2);
    const auto taken = mail->take(1);
    REQUIRE((taken && taken->size() == 1));
    CHECK(taken->front().id == (life < 3 ? 1 : 2));
    if (life < 3) attempts = taken->front().attempts;
    // The kernel's view if the process is killed now.
    image = found.image();
    if (life == 3) CHECK(mail->statistics().dead == 1);
  }
  CHECK(attempts == 3);
}

TEST_CASE("an error is stored up to its maximum length, and not cut within a character") {
  MemoryFileSystem files;
  StreamWorld world(files);
  const auto mail = world.subscribe("mail");
  world.append(1, 1);
  REQUIRE(take_ids(*mail).size() == 1);
  std::string error(255, 'x');
  error += "\xc3\xa4 and more";
  settle(*mail, 1, 1, Outcome::kRetry, error);
  CHECK(mail->statistics().last_error == std::string(255, 'x'));
}
