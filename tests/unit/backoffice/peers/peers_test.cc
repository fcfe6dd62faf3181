#include "quarry/backoffice/peers.h"

#include <doctest/doctest.h>

#include <string>

#include "fake_processes.h"

using namespace quarry::backoffice;
using namespace std::chrono_literals;
using quarry::base::Error;
using quarry::base::ErrorCode;
using quarry::base::UnixMillis;

namespace {

constexpr std::int64_t kNow = 1'800'000'000'000;

PeerOptions options() {
  PeerOptions made;
  made.interval = 60s;
  made.retry_delay = 10s;
  made.retry_max_delay = 40s;
  return made;
}

/// Returns the state of a peer that was synced SECONDS ago, when mark_of() returned "5".
PeerState synced(std::int64_t seconds) {
  PeerState state;
  state.tried = kNow - seconds * 1000;
  state.succeeded = state.tried + 10;
  state.seen = "5";
  return state;
}

auto wait(const PeerState& state, const PeerOptions& peer, const char* mark = "5") {
  return wait_for_peer(state, peer, mark, UnixMillis{kNow});
}

}  // namespace

TEST_CASE("a peer is due without a state, and an interval after the last sync began") {
  CHECK(wait({}, options()) == 0ms);
  CHECK(wait(synced(59), options()) == 1s);
  CHECK(wait(synced(60), options()) == 0ms);
  CHECK(wait(synced(600), options()) == 0ms);
}

TEST_CASE("new content is sent immediately, except with direction pull") {
  auto peer = options();
  for (const auto direction : {PeerDirection::kBoth, PeerDirection::kPush}) {
    peer.direction = direction;
    CHECK(wait(synced(1), peer, "6") == 0ms);
  }
  peer.direction = PeerDirection::kPull;
  CHECK(wait(synced(1), peer, "6") == 59s);
}

TEST_CASE("after a failure, new content does not shorten the delay") {
  auto state = synced(600);
  state.failures = 1;
  state.next = kNow + 7000;
  CHECK(wait(state, options(), "6") == 7s);
  state.next = kNow;
  CHECK(wait(state, options()) == 0ms);
}

TEST_CASE("a clock that was set back delays no sync") {
  CHECK(wait(synced(-100'000), options()) == 0ms);
  auto state = synced(600);
  state.failures = 3;
  state.next = kNow + 100'000'000;
  CHECK(wait(state, options()) == 0ms);
}

TEST_CASE("the delay grows up to a limit, with jitter") {
  const Error away{ErrorCode::kIo, "no server"};
  for (const double random : {0.0, 0.5, 0.99}) {
    CHECK(wait_after_failure(1, away, options(), random) <= 10s);
    CHECK(wait_after_failure(1, away, options(), random) >= 7500ms);
    CHECK(wait_after_failure(2, away, options(), random) >= 15s);
    for (const std::int64_t failures : {3, 4, 100, 1'000'000'000}) {
      CHECK(wait_after_failure(failures, away, options(), random) <= 40s);
      CHECK(wait_after_failure(failures, away, options(), random) >= 30s);
    }
  }
  CHECK(wait_after_failure(1, away, options(), 0.1) != wait_after_failure(1, away, options(), 0.2));
}

TEST_CASE("refusals are retried with a delay of up to an hour") {
  const Error refused{ErrorCode::kDenied, "the server says: login failed"};
  CHECK(wait_after_failure(1, refused, options(), 0) == 10s);
  CHECK(wait_after_failure(5, refused, options(), 0) == 160s);
  CHECK(wait_after_failure(50, refused, options(), 0) == 1h);
  auto peer = options();
  peer.retry_max_delay = 5h;
  CHECK(wait_after_failure(50, refused, peer, 0) == 5h);
}

TEST_CASE("the first failure is logged, and later ones at growing intervals") {
  int logged = 0;
  for (std::int64_t failures = 1; failures <= 1000; ++failures)
    logged += is_failure_to_log(failures);
  CHECK(is_failure_to_log(1));
  CHECK_FALSE(is_failure_to_log(0));
  CHECK(logged == 10);
}

TEST_CASE("a state is parsed as it was written") {
  PeerState state;
  CHECK(PeerState::parse(state.text()) == state);
  state = {.url = "http://a@b/c",
           .tried = 1,
           .succeeded = 2,
           .failed = 3,
           .next = 4,
           .failures = 5,
           .error = "a \"b\"\n\x1b[31m",
           .seen = "7 8",
           .exchanged = 9,
           .sent = 10,
           .received = 11,
           .moved_to = "http://d",
           .runner = PeerRunner{.host = "h/1", .pid = 12, .started = 13, .since = 14, .until = 15}};
  CHECK(PeerState::parse(state.text()) == state);
  // The peer sent an error message that is not valid UTF-8.
  state.error = "\xff";
  CHECK(PeerState::parse(state.text()).failures == 5);
}

TEST_CASE("an invalid row counts as no state") {
  for (const std::string& text :
       {std::string(), std::string("null"), std::string("[1]"), std::string("{\"tried\":"),
        std::string("{\"tried\":\"x\",\"failures\":-3,\"next\":1.5,\"error\":7,\"runner\":[]}"),
        std::string(100'000, '[')}) {
    CHECK(PeerState::parse(text) == PeerState{});
  }
}

TEST_CASE("a running sync is recognized by its process, on other hosts by its deadline") {
  FakeProcesses processes;
  processes.alive[7] = 70;
  PeerState state;
  CHECK_FALSE(is_running(state, processes, {kNow}));
  state.runner = PeerRunner{.host = "boot/1", .pid = 7, .started = 70, .since = 1, .until = 2};
  CHECK(is_running(state, processes, {kNow}));
  state.runner->started = 71;  // the process ID has been reused
  CHECK_FALSE(is_running(state, processes, {kNow}));
  state.runner->pid = 8;
  CHECK_FALSE(is_running(state, processes, {kNow}));
  state.runner->host = "elsewhere";
  CHECK_FALSE(is_running(state, processes, {kNow}));
  state.runner->since = kNow - 1;
  state.runner->until = kNow + 1;
  CHECK(is_running(state, processes, {kNow}));
}

TEST_CASE("names of peers are validated") {
  CHECK(check_peer_name("mirror-1.example_org"));
  for (const std::string& name : {std::string(), std::string("a b"), std::string("a/b"),
                                  std::string("\xc3\xbc"), std::string(65, 'a')}) {
    CHECK_FALSE(check_peer_name(name));
  }
}
