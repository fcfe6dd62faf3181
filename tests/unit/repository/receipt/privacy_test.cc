#include <doctest/doctest.h>

#include "quarry/artifact/delta.h"
#include "world.h"

using namespace quarry;
using namespace quarry::repository;
using namespace quarry::repository::test;

TEST_CASE("a private file in a public check-in is no longer a delta on a private one") {
  World world;
  std::string first;
  for (int line = 0; line < 200; ++line) first += "line " + std::to_string(line) + "\n";
  const std::string second = first + "one more\n";
  const std::string change = artifact::delta_create(first, second);
  Arrival named = delta(name_of(second), name_of(first), change);
  named.is_private = true;
  world.put_private(first);
  world.receive([&](Receipt& receipt) { REQUIRE(receipt.store(named)); });
  REQUIRE(world.sql("SELECT count(*) FROM delta") == "1");
  world.put(check_in_on({world.root()}, 0, {}, second));
  CHECK(world.sql("SELECT uuid FROM private JOIN blob USING(rid)") == name_of(first).str());
  CHECK(world.sql("SELECT count(*) FROM delta") == "0");
  CHECK(faults(world.file()) == "");
  // `fossil rebuild` keeps the artifact public. `fossil clone` omits private artifacts, but
  // transfers this one.
  const std::string copy = (world.folder / "copy.fossil").string();
  REQUIRE(world.fossil("rebuild " + world.file().string()));
  CHECK(world.sql("SELECT uuid FROM private JOIN blob USING(rid)") == name_of(first).str());
  CHECK(faults(world.file()) == "");
  REQUIRE(world.fossil("clone " + world.file().string() + " " + copy));
  CHECK(world.fossil("artifact " + std::string(name_of(second).str()) + " -R " + copy));
  CHECK(world.fossil_output == second);
  CHECK_FALSE(world.fossil("artifact " + std::string(name_of(first).str()) + " -R " + copy));
}
