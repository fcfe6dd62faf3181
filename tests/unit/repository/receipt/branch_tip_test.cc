#include <doctest/doctest.h>

#include <barrier>
#include <thread>

#include "world.h"

using namespace quarry;
using namespace quarry::repository;
using namespace quarry::repository::test;
using artifact::HashName;

namespace {

/// Stores CONTENT if TIP is the tip of BRANCH.
Result<void> land(Repository& repository, const std::string& branch, const HashName& tip,
                  const std::string& content) {
  QUARRY_TRY_ASSIGN(Receipt receipt, repository.receive());
  receipt.set_sender({.uid = 1, .address = "192.0.2.1"});
  QUARRY_TRY(receipt.require_tip(branch, tip));
  QUARRY_TRY(receipt.store(whole(content)));
  return receipt.commit();
}

}  // namespace

TEST_CASE("the second of two landings on one tip finds a conflict and changes nothing") {
  World world;
  const HashName tip = world.root();
  auto opened = Repository::open(world.file(), {.clock = &world.clock});
  REQUIRE(opened);
  std::vector<Result<void>> outcomes(2);
  std::barrier both(2);
  const auto run = [&](Repository& repository, std::size_t number) {
    both.arrive_and_wait();
    outcomes[number] =
        land(repository, "trunk", tip, check_in_on({tip}, 1 + static_cast<int>(number)));
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
  const HashName root = world.root();
  const std::string first = check_in_on({root}, 1);
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
  const HashName root = world.root();
  const HashName older = world.put(check_in_on({root}, 1));
  const HashName newer = world.put(check_in_on({root}, 2));
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
  const HashName root = world.root();
  const std::string ended =
      check_in_on({root}, 1, {{'*', "branch", "side"}, {'*', "sym-side", ""}, {'+', "closed", ""}});
  world.put(ended);
  const auto closed =
      land(*world.repository, "side", name_of(ended), check_in_on({name_of(ended)}, 2));
  REQUIRE_FALSE(closed);
  CHECK(closed.error().code == ErrorCode::kConflict);
  CHECK(closed.error().message == "the branch side is closed");
  const auto missing = land(*world.repository, "no-such", root, check_in_on({root}, 2));
  REQUIRE_FALSE(missing);
  CHECK(missing.error().code == ErrorCode::kNotFound);
  CHECK(world.sql("SELECT count(*) FROM blob") == "2");
}

TEST_CASE("a private check-in is not a tip") {
  World world;
  const HashName root = world.root();
  const std::string content = check_in_on({root}, 1, {{'*', "branch", "dark"}});
  world.put_private(content);
  const auto landed =
      land(*world.repository, "dark", name_of(content), check_in_on({name_of(content)}, 2));
  REQUIRE_FALSE(landed);
  CHECK(landed.error().code == ErrorCode::kNotFound);
}
