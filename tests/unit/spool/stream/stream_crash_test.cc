// Simulates a crash of the machine after each file operation of a stream. Any part of the unsynced
// data can be lost. Acknowledged messages must not be lost, and durably settled messages must not
// be delivered again.
#include <doctest/doctest.h>

#include <algorithm>
#include <cstdlib>
#include <set>
#include <string>
#include <vector>

#include "crashes.h"
#include "stream_world.h"

using namespace quarry::spool;
using namespace std::chrono_literals;

namespace {

using Ids = std::set<std::uint64_t>;

/// The calls that had returned after `operations` operations.
struct Promise {
  std::size_t operations = 0;
  std::uint64_t appended = 0;  // messages 1 to `appended` are stored
  Ids done;                    // settled
  Ids asked;                   // settled, or in a running call to settle()
  Ids dead;
};

constexpr std::uint64_t kMessages = 60;

SubscriptionOptions options_of(bool synced) {
  return {.sync_settlements = synced, .window = 8};
}

/// A scenario with full and removed segments, retried, returned and given-up messages, a slow
/// subscription, and a restart.
class Life {
 public:
  explicit Life(bool synced) : options_(options_of(synced)), world_(files_) {
    mail_ = world_.subscribe("mail", options_);
    world_.subscribe("other", options_);
    promise();
  }

  Recording<Promise> run() {
    append(3);
    take(3);
    settle({{.sequence = 1}, {.sequence = 3}});
    append(25);
    take(6);
    settle({{.sequence = 2, .outcome = Outcome::kRetry, .error = "away"},
            {.sequence = 4, .outcome = Outcome::kGivenUp, .error = "gone"},
            {.sequence = 5, .outcome = Outcome::kReturned}});
    settle({{.sequence = 6}, {.sequence = 7}, {.sequence = 8}});
    take(2);
    world_.reopen();
    mail_ = world_.subscribe("mail", options_);
    append(32);
    world_.clock.pass(1h);
    while (promise_.done.size() < kMessages - 1) {
      const auto taken = mail_->take(5);
      REQUIRE(taken);
      std::vector<Settlement> done;
      for (const auto& message : *taken) done.push_back({.sequence = message.sequence});
      settle(done);
    }
    drain(*world_.subscribe("other", options_));
    promise();
    recording_.operations = files_.operations();
    return recording_;
  }

 private:
  void promise() {
    promise_.operations = files_.operations().size();
    recording_.promises.push_back(promise_);
  }
  void append(std::uint64_t count) {
    world_.append(promise_.appended + 1, promise_.appended + count);
    promise_.appended += count;
    promise();
  }
  void take(std::size_t count) { REQUIRE(take_ids(*mail_, count).size() == count); }
  void settle(const std::vector<Settlement>& settlements) {
    for (const auto& one : settlements) {
      if (one.outcome == Outcome::kDone) promise_.asked.insert(one.sequence);
      if (one.outcome == Outcome::kGivenUp) promise_.asked.insert(one.sequence);
    }
    promise();
    REQUIRE(mail_->settle(settlements));
    for (const auto& one : settlements) {
      if (one.outcome == Outcome::kDone) promise_.done.insert(one.sequence);
      if (one.outcome == Outcome::kGivenUp) promise_.dead.insert(one.sequence);
    }
    promise();
  }

  SubscriptionOptions options_;
  MemoryFileSystem files_;
  StreamWorld world_;
  std::shared_ptr<Subscription> mail_;
  Promise promise_;
  Recording<Promise> recording_;
};

/// The state that a new process finds.
struct Found {
  std::vector<std::uint64_t> given;
  std::uint64_t unreadable = 0;
  Ids dead;
  std::string reported;
};

Found find(const MemoryFileSystem::Image& image, bool synced) {
  MemoryFileSystem files(image);
  StreamWorld world(files);
  world.clock.pass(2h);
  Found found;
  const auto names = world.names();
  if (std::ranges::find(names, "mail") != names.end()) {
    const auto mail = world.subscribe("mail", options_of(synced));
    for (const auto& letter : world.dead_letters("mail")) {
      REQUIRE(found.dead.insert(letter.id).second);
    }
    found.given = drain(*mail);
    found.unreadable = mail->statistics().unreadable;
    // The stream must accept and deliver new messages.
    const std::vector<NewMessage> more(2, numbered_message(1));
    const auto next = world.stream->append(more);
    REQUIRE(next);
    CHECK(drain(*mail) == ids(*next, *next + 1));
  }
  found.reported = world.reported;
  return found;
}

/// Checks FOUND against PROMISE, which was made before the crash. If IS_SETTLED is true, settled
/// messages must not be delivered again.
void check(const Found& found, const Promise& promise, bool is_settled) {
  CAPTURE(found.reported);
  const Ids given(found.given.begin(), found.given.end());
  CHECK(given.size() == found.given.size());
  CHECK(found.unreadable == 0);
  for (std::uint64_t id = 1; id <= promise.appended; ++id) {
    CAPTURE(id);
    const bool is_there = given.contains(id) || found.dead.contains(id);
    if (!promise.asked.contains(id)) CHECK(is_there);
    if (promise.dead.contains(id)) CHECK(found.dead.contains(id));
    if (is_settled && promise.done.contains(id)) CHECK_FALSE(given.contains(id));
    if (is_settled && promise.dead.contains(id)) CHECK_FALSE(given.contains(id));
  }
}

/// Returns true if $QUARRY_TEST_CASES is set.
bool is_thorough() {
  return std::getenv("QUARRY_TEST_CASES") != nullptr;
}

/// Returns the distance in bytes between two kills within a write. In a thorough run, short writes
/// are interrupted after each byte.
std::size_t stride(std::size_t bytes_written) {
  if (!is_thorough()) return bytes_written < 200 ? 11 : 101;
  return bytes_written < 200 ? 1 : 37;
}

/// Simulates a crash of the machine after each operation of the scenario.
void stop_everywhere(bool synced) {
  const Recording<Promise> recording = Life(synced).run();
  for_each_crash(recording.operations, 4, is_thorough() ? 16 : 6,
                 [&](const auto& image, std::size_t count) {
                   check(find(image, synced), recording.at(count), synced);
                 });
}

}  // namespace

TEST_CASE("a crash of the machine loses nothing acknowledged, and repeats nothing settled") {
  stop_everywhere(true);
}

TEST_CASE("without synced settlements some messages are repeated, but none is lost") {
  stop_everywhere(false);
}

TEST_CASE("a process killed within any write repeats nothing settled, synced or not") {
  for (const bool synced : {false, true}) {
    const Recording<Promise> recording = Life(synced).run();
    for_each_kill(recording.operations, stride, [&](const auto& image, std::size_t count) {
      const Found found = find(image, synced);
      check(found, recording.at(count), true);
      CHECK_FALSE(found.reported.contains("damaged"));
      CHECK_FALSE(found.reported.contains("missing or unreadable"));
    });
  }
}
