#include <doctest/doctest.h>

#include <string>

#include "stream_world.h"

using namespace quarry;
using namespace quarry::spool;
using namespace std::chrono_literals;

TEST_CASE_FIXTURE(MailWorld,
                  "a message that fails too often becomes a dead letter with all its fields") {
  const auto start = clock.time;
  set({.max_attempts = 3});
  append(1, 3);
  for (int attempt = 1; attempt <= 3; ++attempt) {
    REQUIRE(take_ids(*mail, 1) == ids(1, 1));
    CHECK(dead_letters("mail").empty());
    settle(*mail, 1, 1, Outcome::kRetry, "refused " + std::to_string(attempt));
    clock.pass(1h);
  }
  CHECK(drain(*mail) == ids(2, 3));
  restart();
  CHECK(drain(*mail).empty());
  const auto dead = dead_letters("mail");
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

TEST_CASE_FIXTURE(MailWorld,
                  "the status during the first dead letter shows the subscription without it") {
  // Simulates the moment at which the dead letters have a stream, but not yet a subscription.
  const auto theirs = files.open("/spool/s.mail.dead.stream", base::FileUse::kMake);
  REQUIRE(theirs);
  REQUIRE((*theirs)->append(files.image().at("s.stream")));
  const StreamStatus found = status();
  REQUIRE(found.subscriptions.size() == 1);
  CHECK(found.subscriptions[0].dead == 0);
}

TEST_CASE_FIXTURE(MailWorld, "replayed dead letters return unchanged, to their subscription only") {
  const auto start = clock.time;
  const auto hook = subscribe("hook");
  append(1, 5);
  REQUIRE(take_ids(*mail).size() == 5);
  settle(*mail, 2, 3, Outcome::kGivenUp, "no such user");
  settle(*mail, 1, 5);
  CHECK(drain(*hook) == ids(1, 5));
  clock.pass(1h);
  CHECK(mail->replay_dead().value_or(0) == 2);
  CHECK(dead_letters("mail").empty());
  CHECK(drain(*hook).empty());
  const auto again = mail->take(10);
  REQUIRE((again && again->size() == 2));
  CHECK(again->at(0).id == 2);
  CHECK(again->at(0).sequence == 6);
  CHECK(again->at(0).key == "k2");
  CHECK(again->at(0).content == "message 2");
  CHECK(again->at(0).attempts == 1);
  CHECK(again->at(0).taken_at == start);
  CHECK(status().subscriptions.at(0).waiting == 0);
  CHECK(status().subscriptions.at(1).waiting == 2);
  settle(*mail, 6, 7);
  for (const SubscriptionStatistics& each : status().subscriptions) {
    CHECK(each.waiting == 0);
    CHECK(!each.oldest);
  }
  append(8, 8);
  CHECK(status().subscriptions.at(0).waiting == 1);
  CHECK(drain(*hook) == ids(8, 8));
  CHECK(drain(*mail) == ids(8, 8));
  CHECK(mail->statistics().waiting == 0);
  CHECK(hook->statistics().waiting == 0);
}

TEST_CASE_FIXTURE(MailWorld,
                  "dead letters can be purged, and are deleted with their subscription") {
  append(1, 2);
  REQUIRE(take_ids(*mail).size() == 2);
  settle(*mail, 1, 2, Outcome::kGivenUp, "gone");
  CHECK(mail->purge_dead().value_or(0) == 2);
  CHECK(dead_letters("mail").empty());
  CHECK(mail->statistics().dead == 0);
  CHECK(mail->statistics().given_up == 2);
  REQUIRE(stream->unsubscribe("mail"));
  for (const auto& [name, content] : files.image()) {
    CAPTURE(name);
    CHECK_FALSE(name.starts_with("s.mail"));
  }
  CHECK_FALSE(mail->take(1));
  CHECK_FALSE(mail->statistics().waiting > 0);
}

TEST_CASE("a message whose delivery kills the process is given up after its attempts") {
  std::uint32_t attempts = 0;
  MemoryFileSystem::Image image;
  for (int life = 0; life < 4; ++life) {
    MailWorld world(image);
    world.set({.max_attempts = 3});
    if (life == 0) world.append(1, 2);
    const auto taken = world.mail->take(1);
    REQUIRE((taken && taken->size() == 1));
    CHECK(taken->front().id == (life < 3 ? 1 : 2));
    if (life < 3) attempts = taken->front().attempts;
    // Saves the files as they are while the delivery is in progress.
    image = world.files.image();
    if (life == 3) CHECK(world.mail->statistics().dead == 1);
  }
  CHECK(attempts == 3);
}

TEST_CASE_FIXTURE(MailWorld,
                  "an error is stored up to its maximum length, and not cut within a character") {
  append(1, 1);
  REQUIRE(take_ids(*mail).size() == 1);
  std::string error(255, 'x');
  error += "\xc3\xa4 and more";
  settle(*mail, 1, 1, Outcome::kRetry, error);
  CHECK(mail->statistics().last_error == std::string(255, 'x'));
}

TEST_CASE_FIXTURE(MailWorld, "a retired subscription keeps its messages, and gets no more") {
  const auto hook = subscribe("hook");
  append(1, 6);
  REQUIRE(take_ids(*mail, 4) == ids(1, 4));
  settle(*mail, 1, 1);
  settle(*mail, 2, 2, Outcome::kGivenUp, "no such user");
  settle(*mail, 3, 3, Outcome::kRetry, "later");
  REQUIRE(stream->retire("mail"));
  CHECK_FALSE(mail->take(1));
  CHECK(stream->retire("mail").error().code == ErrorCode::kNotFound);
  append(7, 100);
  CHECK(drain(*hook) == ids(1, 100));
  for (int i = 0; i < 2; ++i) {
    const StreamStatus found = status();
    REQUIRE(found.subscriptions.size() == 2);
    CHECK(found.subscriptions[1].name == "mail");
    CHECK(found.subscriptions[1].waiting == 4);
    CHECK(found.subscriptions[1].dead == 1);
    CHECK(found.segments == 1);  // the kept messages are in files of their own
    reopen();
    CHECK(names() == std::vector<std::string>{"hook"});
  }
  mail = subscribe("mail");
  CHECK(drain(*mail) == std::vector<std::uint64_t>{3, 4, 5, 6});
  CHECK(dead_letters("mail").size() == 1);
  append(105, 106);  // the four returned messages have used the ids 101 to 104
  CHECK(drain(*mail) == ids(105, 106));
  CHECK(status().subscriptions[1].waiting == 0);
}

TEST_CASE_FIXTURE(MailWorld, "a retired subscription is forgotten while the stream is in use") {
  const auto forget = [&] {
    return forget_retired(options.location, "mail", {}, {.files = system, .clock = clock});
  };
  append(1, 3);
  REQUIRE(take_ids(*mail, 1) == ids(1, 1));
  settle(*mail, 1, 1, Outcome::kGivenUp, "no such user");
  CHECK(forget().error().code == ErrorCode::kBusy);
  REQUIRE(stream->retire("mail"));
  REQUIRE(forget());
  CHECK(status().subscriptions.empty());
  CHECK(forget().error().code == ErrorCode::kNotFound);
  mail = subscribe("mail");
  CHECK(drain(*mail).empty());
  CHECK(dead_letters("mail").empty());
}

TEST_CASE_FIXTURE(MailWorld, "a skipped message is settled, but not delivered") {
  append(1, 3);
  REQUIRE(take_ids(*mail) == ids(1, 3));
  settle(*mail, 1, 2, Outcome::kSkipped);
  settle(*mail, 3, 3);
  restart();
  CHECK(drain(*mail).empty());
  CHECK(mail->statistics().delivered == 1);
  CHECK(mail->statistics().waiting == 0);
}
