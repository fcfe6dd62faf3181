#include "quarry/scoreboard/refusal_tally.h"

#include <doctest/doctest.h>
#include <fmt/core.h>
#include <unistd.h>

#include <memory>
#include <string>

#include "forked.h"

using namespace quarry::scoreboard;

namespace {

Refusal refusal_of(std::uint32_t status, const std::string& text, const std::string& uri = "/") {
  Refusal refusal{.status = status};
  refusal.of_request("GET", uri);
  refusal.text.assign(text);
  return refusal;
}

std::shared_ptr<RefusalTally> some_tally(Refuser by = Refuser::kFront) {
  auto tally = RefusalTally::create(by);
  REQUIRE(tally);
  return *tally;
}

template <typename Work>
void in_refusing_child(Work work) {
  REQUIRE(status_of(start_child(work)) == 0);
}

}  // namespace

TEST_CASE("the refusals of a child are visible to others, each reason once, newest first") {
  const auto tally = some_tally();
  CHECK(tally->read().empty());
  in_refusing_child([&] {
    if (!tally->begin()) return;
    tally->note(refusal_of(413, "a body of 1000 bytes exceeds the limit of 99"));
    tally->note(refusal_of(503, "too many"));
    tally->note(refusal_of(413, "a body of 7 bytes exceeds the limit of 99", "/x?token=hidden"));
  });
  const auto recent = tally->read();
  REQUIRE(recent.size() == 2);
  CHECK(recent[0].status == 413);
  CHECK(recent[0].times == 2);
  CHECK(recent[0].by == Refuser::kFront);
  CHECK(recent[0].uri.view() == "/x");
  CHECK(recent[0].text.view() == "a body of 7 bytes exceeds the limit of 99");
  CHECK(recent[1].status == 503);
  CHECK(recent[1].times == 1);
}

TEST_CASE("reasons are distinguished by their words and status") {
  const auto tally = some_tally();
  REQUIRE(tally->begin());
  for (const char* text : {"a 1", "a 1 b", "b 1", "a", "1", ""}) tally->note(refusal_of(400, text));
  tally->note(refusal_of(401, "a 22"));
  // Digits are ignored: "1" and "" are the same reason. "a 1" and "a" differ by a space.
  CHECK(tally->read().size() == 6);
}

TEST_CASE("a flood of one reason keeps the others, and a flood of all keeps those of workers") {
  const auto tally = some_tally();
  REQUIRE(tally->begin());
  tally->note(refusal_of(400, "seldom"));
  for (int i = 0; i < 10'000; ++i) tally->note(refusal_of(503, fmt::format("{} too many", i)));
  REQUIRE(tally->read().size() == 2);
  CHECK(tally->read()[0].times == 10'000);
  CHECK(tally->read()[1].text.view() == "seldom");
  for (std::uint32_t i = 0; i < 2 * RefusalTally::kMaxReasons; ++i) {
    tally->note(refusal_of(i, "flood"));
  }
  CHECK(tally->read().size() == RefusalTally::kMaxReasons);
  std::vector<Refusal> own(20, refusal_of(415, "not taken"));
  for (Refusal& each : own) each.at = 1;
  const auto recent = recent_refusals(own, {tally});
  REQUIRE(recent.size() == kMaxRecentOfTally + kMaxRecentOfWorkers);
  CHECK(recent.front().by == Refuser::kFront);
  CHECK(recent.back().by == Refuser::kWorker);
}

TEST_CASE("a successor continues the counts") {
  const auto tally = some_tally(Refuser::kPages);
  for (int i = 0; i < 2; ++i) {
    in_refusing_child([&] {
      if (tally->begin()) tally->note(refusal_of(502, "not made"));
    });
  }
  REQUIRE(tally->read().size() == 1);
  CHECK(tally->read()[0].times == 2);
  CHECK(tally->read()[0].by == Refuser::kPages);
}

TEST_CASE("only the noting child can write") {
  const auto tally = some_tally();
  in_refusing_child([&] { tally->note(refusal_of(400, "no")); });
  CHECK(tally->read().empty());
}

TEST_CASE("implausible entries are not listed") {
  const auto tally = some_tally();
  const auto memory = map_for_writing(tally->fd(), sizeof(Refusal) + sizeof(std::uint64_t));
  REQUIRE(memory);
  REQUIRE(tally->begin());
  tally->note(refusal_of(400, "no"));
  REQUIRE(tally->read().size() == 1);
  CHECK(::ftruncate(tally->fd(), 0) != 0);
  auto* const words = static_cast<std::uint64_t*>(memory->get());
  SUBCASE("in an update that never ends") {
    words[0] |= 1U;
  }
  SUBCASE("in the future") {
    words[1] = INT64_MAX;
  }
  SUBCASE("with no status of HTTP, or by nobody") {
    words[2] = UINT64_MAX;
  }
  SUBCASE("by another") {
    words[2] = 400 | (std::uint64_t{2} << 32);
  }
  CHECK(tally->read().empty());
}
