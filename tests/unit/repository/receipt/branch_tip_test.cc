// A landing goes on only from the tip that its maker knew.

#include <doctest/doctest.h>

#include <atomic>
#include <barrier>
#include <thread>

#include "world.h"

using namespace quarry;
using namespace quarry::repository;
using namespace quarry::repository::test;
using artifact::HashName;
using base::ErrorCode;

namespace {

HashName first_root(World& world) {
  return *HashName::parse(world.sql("SELECT uuid FROM blob WHERE rid=1"));
}

std::string check_in(const HashName& parent, int minute, const std::string& comment,
                     const std::vector<artifact::CheckInText::Tag>& tags = {}) {
  return artifact::format_check_in(
      {.comment = comment,
       .date = {HeldClock().now().value + std::int64_t{60000} * minute},
       .user = "ann",
       .files = {},
       .parents = {parent},
       .repository_checksum = "",
       .tags = tags});
}

/// Lands CONTENT on BRANCH if its tip is TIP.
base::Result<void> land(Repository& repository, const std::string& branch, const HashName& tip,
                        const std::string& content) {
  QUARRY_TRY_ASSIGN(Receipt receipt, repository.receive());
  receipt.set_sender({.uid = 1, .login_nonce = {}, .address = "192.0.2.1"});
  QUARRY_TRY(receipt.require_tip(branch, tip));
  QUARRY_TRY(receipt.store(whole(content)));
  return receipt.commit();
}

}  // namespace

TEST_CASE("the second of two landings on one tip finds a conflict and changes nothing") {
  World world;
  const HashName tip = first_root(world);
  auto opened = Repository::open(world.file(), {.clock = &world.clock});
  REQUIRE(opened);
  std::vector<base::Result<void>> outcomes(2);
  std::barrier both(2);
  const auto run = [&](Repository& repository, std::size_t number) {
    both.arrive_and_wait();
    outcomes[number] =
        land(repository, "trunk", tip, check_in(tip, 1, "work " + std::to_string(number)));
  };
  {
    const std::jthread other([&] { run(**opened, 1); });
    run(*world.repository, 0);
  }
  const std::size_t loser = outcomes[0] ? 1 : 0;
  REQUIRE(outcomes[1 - loser]);
  REQUIRE_FALSE(outcomes[loser]);
  CHECK(outcomes[loser].error().code == ErrorCode::kConflict);
  CHECK(outcomes[loser].error().message.find("the tip of the branch trunk is ") !=
        std::string::npos);
  CHECK(world.sql("SELECT count(*) FROM event WHERE type='ci'") == "2");
  CHECK(world.sql("SELECT count(*) FROM blob") == "2");
  CHECK(world.sql("SELECT count(*) FROM leaf") == "1");
  CHECK(faults(world.file()) == "");
}

TEST_CASE("earlier check-ins of the same transaction count for the tip") {
  World world;
  const HashName root = first_root(world);
  const std::string first = check_in(root, 1, "first");
  world.receive([&](Receipt& receipt) {
    REQUIRE(receipt.require_tip("trunk", root));
    REQUIRE(receipt.store(whole(first)));
    REQUIRE(receipt.require_tip("trunk", name_of(first)));
    const auto moved = receipt.require_tip("trunk", root);
    REQUIRE_FALSE(moved);
    CHECK(moved.error().code == ErrorCode::kConflict);
  });
}

TEST_CASE("the tip of a branch with two leaves is the newest open one") {
  World world;
  const HashName root = first_root(world);
  const HashName older = world.put(check_in(root, 1, "older"));
  const HashName newer = world.put(check_in(root, 2, "newer"));
  const auto is_tip = [&](const HashName& name) {
    auto receipt = world.repository->receive();
    REQUIRE(receipt);
    return receipt->require_tip("trunk", name).has_value();
  };
  CHECK(is_tip(newer));
  CHECK_FALSE(is_tip(older));
  REQUIRE(
      world.fossil("amend " + std::string(newer.str()) + " --close -R " + world.file().string()));
  CHECK(is_tip(older));
  CHECK_FALSE(is_tip(newer));
}

TEST_CASE("landing on a closed or missing branch fails") {
  World world;
  const HashName root = first_root(world);
  const std::string ended = check_in(
      root, 1, "side", {{'*', "branch", "side"}, {'*', "sym-side", ""}, {'+', "closed", ""}});
  world.put(ended);
  const auto closed =
      land(*world.repository, "side", name_of(ended), check_in(name_of(ended), 2, "x"));
  REQUIRE_FALSE(closed);
  CHECK(closed.error().code == ErrorCode::kConflict);
  CHECK(closed.error().message == "the branch side is closed");
  const auto missing = land(*world.repository, "no-such", root, check_in(root, 2, "x"));
  REQUIRE_FALSE(missing);
  CHECK(missing.error().code == ErrorCode::kNotFound);
  CHECK(world.sql("SELECT count(*) FROM blob") == "2");
}

TEST_CASE("a private check-in is not a tip") {
  World world;
  const HashName root = first_root(world);
  const std::string content = check_in(root, 1, "secret", {{'*', "branch", "dark"}});
  world.receive([&](Receipt& receipt) {
    Arrival arrival = whole(content);
    arrival.is_private = true;
    REQUIRE(receipt.store(arrival));
  });
  const auto landed =
      land(*world.repository, "dark", name_of(content), check_in(name_of(content), 2, "x"));
  REQUIRE_FALSE(landed);
  CHECK(landed.error().code == ErrorCode::kNotFound);
}
