#include "subscription_state.h"

#include <doctest/doctest.h>

#include <vector>

#include "envelope.h"

using namespace quarry::spool;

namespace {

Position at(std::uint64_t sequence) {
  return {.segment = 1, .offset = 32 + 40 * sequence, .sequence = sequence};
}

const std::vector<Event>& all_kinds() {
  static const std::vector<Event> events{
      Taken{at(5), at(9)},
      TakenAgain{5},
      Done{6},
      Postponed{.sequence = 5, .due = 2000, .delay = 1000, .time = 1000, .error = "refused"},
      GivenUp{.sequence = 7, .time = 1500, .error = "no such user"},
      Returned{8},
      Lost{8},
      Passed{.to = at(12), .unreadable = 3},
      Skipped{5}};
  return events;
}

}  // namespace

TEST_CASE("events and states are decoded as they were encoded") {
  SubscriptionState live(at(1));
  SubscriptionState replayed(at(1));
  for (const Event& event : all_kinds()) {
    const auto decoded = decode_event(encode(event));
    REQUIRE(decoded);
    live.apply(event);
    replayed.apply(*decoded);
    CHECK(replayed.encode() == live.encode());
    const auto state = SubscriptionState::decode(live.encode());
    REQUIRE(state);
    CHECK(state->encode() == live.encode());
    CHECK(state->postponed() == live.postponed());
  }
}

TEST_CASE("truncated or overlong bytes are neither event nor state") {
  for (const Event& event : all_kinds()) {
    const std::string bytes = encode(event);
    for (std::size_t size = 0; size < bytes.size(); ++size) {
      CHECK_FALSE(decode_event(bytes.substr(0, size)));
    }
    CHECK_FALSE(decode_event(bytes + "x"));
  }
  SubscriptionState state(at(1));
  state.apply(Taken{at(5), at(9)});
  const std::string bytes = state.encode();
  for (std::size_t size = 0; size < bytes.size(); ++size) {
    CHECK_FALSE(SubscriptionState::decode(bytes.substr(0, size)));
  }
}

TEST_CASE("a journal with more open messages than allowed is rejected") {
  CHECK_FALSE(decode_event(encode(Taken{at(1), at(1ULL << 40)})));
  CHECK_FALSE(decode_event(encode(Taken{at(9), at(5)})));
}

TEST_CASE("a second settlement, or one of a message that was not taken, is ignored") {
  SubscriptionState state(at(1));
  state.apply(Taken{at(1), at(3)});
  for (int i = 0; i < 2; ++i) state.apply(Done{1});
  state.apply(Done{7});
  state.apply(GivenUp{.sequence = 7, .time = 1, .error = "x"});
  CHECK(state.statistics("mail", 3).delivered == 1);
  CHECK(state.statistics("mail", 3).given_up == 0);
  CHECK(state.open().size() == 1);
  CHECK(state.in_flight() == 1);
}

TEST_CASE("waiting messages are due in order of time, or of the stream") {
  SubscriptionState state(at(1));
  state.apply(Taken{at(1), at(5)});
  state.apply(Postponed{.sequence = 1, .due = 300, .delay = 300, .time = 0, .error = ""});
  state.apply(Postponed{.sequence = 2, .due = 100, .delay = 100, .time = 0, .error = ""});
  state.apply(Returned{3});
  CHECK(state.due(50, 9, false) == std::vector<std::uint64_t>{3});
  CHECK(state.due(100, 9, false) == std::vector<std::uint64_t>{2, 3});
  CHECK(state.due(100, 9, true).empty());
  CHECK(state.due(300, 9, true) == std::vector<std::uint64_t>{1, 2, 3});
  CHECK(state.due(300, 2, true) == std::vector<std::uint64_t>{1, 2});
  // With in_order, the other messages wait for the first one and are not due.
  CHECK(state.next_due(false) == 0);
  CHECK(state.next_due(true) == 300);
  state.apply(TakenAgain{1});
  CHECK_FALSE(state.next_due(true));
}

TEST_CASE("a clock that is set back by a day does not delay messages for a day") {
  SubscriptionState state(at(1));
  state.apply(Taken{at(1), at(2)});
  const std::int64_t day = 86'400'000;
  state.apply(
      Postponed{.sequence = 1, .due = 2 * day + 1000, .delay = 1000, .time = 2 * day, .error = ""});
  CHECK(state.due(2 * day, 9, false).empty());
  CHECK(state.due(day, 9, false).size() == 1);
}

TEST_CASE("an envelope is decoded as it was encoded, and other bytes are rejected") {
  const Envelope envelope{.key = "key",
                          .only = "mail",
                          .error = "why",
                          .attempts = 3,
                          .taken_at = {1234567890123},
                          .id = 77,
                          .content = std::string_view("a\0b", 3)};
  const Message sealed = seal(envelope, 4);
  CHECK(sealed.severity == 4);
  const auto opened = open_envelope(sealed.content);
  REQUIRE(opened);
  CHECK(opened->only == "mail");
  const StreamedMessage message = message_in(*opened, 99, 4);
  CHECK(message.id == 77);
  CHECK(message.sequence == 99);
  CHECK(message.key == "key");
  CHECK(message.error == "why");
  CHECK(message.attempts == 3);
  CHECK(message.taken_at.value == 1234567890123);
  CHECK(message.content == envelope.content);
  const std::size_t fields = sealed.content.size() - envelope.content.size();
  for (std::size_t size = 0; size < fields; ++size) {
    CHECK_FALSE(open_envelope(std::string_view(sealed.content).substr(0, size)));
  }
  CHECK_FALSE(open_envelope("a line of text that some queue carries"));
}

TEST_CASE("a journal in which a message is taken twice does not duplicate it") {
  SubscriptionState state(at(1));
  state.apply(Taken{at(1), at(3)});
  state.apply(Postponed{.sequence = 1, .due = 2000, .delay = 1000, .time = 1000, .error = "away"});
  state.apply(Taken{at(1), at(3)});
  CHECK(state.open().size() == 2);
  CHECK(state.postponed() == 0);
  CHECK(state.in_flight() == 2);

  // The second record repeats the number of the first, so the state is invalid.
  std::string bytes = state.encode();
  const std::size_t each = (bytes.size() - SubscriptionState(at(3)).encode().size() -
                            state.statistics("mail", 3).last_error.size()) /
                           2;
  bytes[bytes.size() - each] = 1;
  CHECK_FALSE(SubscriptionState::decode(bytes));
}

TEST_CASE("whatever a journal says, no more messages are open than the maximum window") {
  SubscriptionState state(at(1));
  for (std::uint64_t i = 0; i < 3; ++i) {
    state.apply(Taken{at(1 + i * kMaxWindow), at(1 + (i + 1) * kMaxWindow)});
  }
  CHECK(state.open().size() == kMaxWindow);
}

TEST_CASE("a retry delay doubles with each attempt up to the maximum, less a random tenth") {
  const RetryDelay retry{.base = std::chrono::seconds(10), .max = std::chrono::seconds(60)};
  const auto after = [&](std::uint32_t attempts, double random) {
    return retry.after(attempts, random).count();
  };
  CHECK(after(1, 0) == 10'000);
  CHECK(after(2, 0) == 20'000);
  CHECK(after(3, 0.5) == 38'000);
  CHECK(after(4, 0) == 60'000);
  CHECK(after(4'000'000'000, 0) == 60'000);
  CHECK(RetryDelay{.base = milliseconds(1), .max = milliseconds(1)}.after(1, 0.999).count() == 1);
}
