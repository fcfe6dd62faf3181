// Tests landings during which the tip of the branch moves, for example while a gate runs.

#include "quarry/changes/landing.h"

#include <doctest/doctest.h>

#include <optional>
#include <string>
#include <vector>

#include "control_artifact.h"
#include "landing_world.h"
#include "quarry/artifact/structural.h"

using namespace quarry;
using namespace quarry::changes;
using namespace quarry::changes::test;

TEST_CASE("if the tip moves while a gate decides, landing starts again") {
  LandingWorld world;
  const HashName base = world.landed(world.order(1, {{"a", {lines(40)}}}));
  LandingOrder order = world.order(2, {{"a", {lines(40, 30, "theirs")}}});
  order.base = base.str();
  int asked = 0;
  const auto gate = [&](const Prospect& prospect) -> Result<void> {
    CHECK(prospect.tree.contains("a"));
    if (++asked == 1) world.commit(world.tip(), {{"a", {lines(40, 3, "ours")}}});
    return {};
  };
  const auto outcomes = world.lander.land({&order, 1}, gate);
  REQUIRE(outcomes);
  REQUIRE(outcomes->front());
  CHECK(asked == 2);
  CHECK(world.files().at("a").content.find("ours\n") != std::string::npos);
  CHECK(world.files().at("a").content.find("theirs\n") != std::string::npos);
  CHECK(world.sql("SELECT count(*) FROM leaf") == "1");
  CHECK(faults(world.file()) == "");
}

TEST_CASE(
    "a fork that appears while a gate decides is noticed, on whichever side the newer leaf is") {
  for (const bool is_older : {true, false}) {
    CAPTURE(is_older);
    LandingWorld world;
    const HashName base = world.landed(world.order(1, {{"a", {"1"}}}));
    if (is_older) world.clock.advance(1'000'000);
    const HashName tip = world.commit(world.tip(), {{"a", {"2"}}});
    if (is_older) world.clock.advance(-1'000'000);
    const LandingOrder order = world.order(2, {{"b", {"b"}}});
    int asked = 0;
    HashName fork = base;
    const auto gate = [&](const Prospect& prospect) -> Result<void> {
      CHECK(prospect.tip == tip);
      if (++asked == 1) fork = world.commit(base, {{"a", {"fork"}}});
      return {};
    };
    const auto outcomes = world.lander.land({&order, 1}, gate);
    REQUIRE(outcomes);
    REQUIRE_FALSE(outcomes->front());
    CHECK(outcomes->front().error().kind == RefusalKind::kForked);
    CHECK(asked == 1);  // the gate does not run again
    CHECK(world.tip() == (is_older ? tip : fork));
    CHECK(world.sql("SELECT count(*) FROM leaf") == "2");
    // After one leaf is closed, the change set lands on the other leaf.
    world.put(format_control(
        {.date = world.clock.now(), .user = "ann", .tags = {{'+', "closed", tip, ""}}}));
    world.landed(order);
    CHECK(world.files() == FilesOf{{"a", {"fork"}}, {"b", {"b"}}});
    CHECK(faults(world.file()) == "");
  }
}

TEST_CASE("a change set whose submitter loses the right while a gate decides does not land") {
  LandingWorld world;
  std::optional<std::string> reason = "not permitted";
  LandingOrder order = world.order(1, {{"a", {"1"}}});
  order.objection = [&] { return reason; };
  const Refusal refused = world.refused(order);
  CHECK(refused.kind == RefusalKind::kNotPermitted);
  CHECK(refused.reason == "not permitted");
  reason.reset();
  int asked = 0;
  const auto gate = [&](const Prospect&) -> Result<void> {
    ++asked;
    world.receive([&](repository::Receipt& receipt) { REQUIRE(receipt.set_config("x", "y")); });
    reason = "not permitted";
    return {};
  };
  const auto outcomes = world.lander.land({&order, 1}, gate);
  REQUIRE(outcomes);
  REQUIRE_FALSE(outcomes->front());
  CHECK(outcomes->front().error().kind == RefusalKind::kNotPermitted);
  CHECK(asked == 1);
  CHECK(world.files().empty());
  reason.reset();
  world.landed(order);
  reason = "not permitted";
  CHECK(world.land(order)->was_there);
}

TEST_CASE("a refused change set does not affect others that land together with it") {
  LandingWorld world;
  std::vector<LandingOrder> orders = {world.order(1, {{"a", {"1"}}}),
                                      world.order(2, {{"b", {"2"}}}),
                                      world.order(3, {{"c", {"3"}}})};
  orders[1].objection = [] { return std::optional<std::string>("not permitted"); };
  const auto outcomes = world.lander.land(orders);
  REQUIRE(outcomes);
  CHECK((*outcomes)[0]);
  CHECK_FALSE((*outcomes)[1]);
  CHECK((*outcomes)[2]);
  CHECK(world.files() == FilesOf{{"a", {"1"}}, {"c", {"3"}}});
  CHECK(faults(world.file()) == "");
}

TEST_CASE("a gate's verdict on a tip that has moved may be accepted") {
  LandingWorld world({.asks_gate_again = false});
  int asked = 0;
  const LandingOrder order = world.order(1, {{"a", {"1"}}});
  const auto gate = [&](const Prospect&) -> Result<void> {
    if (++asked == 1) world.commit(world.tip(), {{"b", {"b"}}});
    return {};
  };
  REQUIRE(world.lander.land({&order, 1}, gate)->front());
  CHECK(asked == 1);
  CHECK(world.files() == FilesOf{{"a", {"1"}}, {"b", {"b"}}});
}

TEST_CASE("a gate's error ends the landing, and so does a tip that keeps moving") {
  LandingWorld world({.attempts = 3});
  const LandingOrder order = world.order(1, {{"a", {"1"}}});
  const auto refused = world.lander.land(
      {&order, 1}, [](const Prospect&) { return fail(ErrorCode::kDenied, "no"); });
  REQUIRE_FALSE(refused);
  CHECK(refused.error().message == "no");
  int moved = 0;
  const auto restless = [&](const Prospect&) -> Result<void> {
    world.commit(world.tip(), {{"b", {std::to_string(++moved)}}});
    return {};
  };
  const auto busy = world.lander.land({&order, 1}, restless);
  REQUIRE_FALSE(busy);
  CHECK(busy.error().code == ErrorCode::kBusy);
  CHECK(moved == 3);
  CHECK_FALSE(world.files().contains("a"));
}
