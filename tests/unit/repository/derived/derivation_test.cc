#include <doctest/doctest.h>
#include <fmt/core.h>

#include <algorithm>
#include <cstdlib>
#include <map>
#include <random>

#include "control_artifact.h"
#include "history.h"
#include "quarry/artifact/delta.h"
#include "world.h"

using namespace quarry;
using quarry::artifact::HashName;
using namespace quarry::repository;
using namespace quarry::repository::test;

namespace {

/// Adds a phantom for each of ARTIFACTS in random order, as `igot` cards do.
void name_in_order(World& world, std::vector<std::string> artifacts, std::mt19937& random) {
  std::shuffle(artifacts.begin(), artifacts.end(), random);
  world.receive([&](Receipt& receipt) {
    for (const std::string& artifact : artifacts) {
      REQUIRE(receipt.add_phantom(name_of(artifact), false));
    }
  });
}

/// Stores ARTIFACTS in a random order, in requests of random sizes, and partly as deltas.
void receive_shuffled(World& world, std::vector<std::string> artifacts, std::mt19937& random) {
  if (random() % 2 == 0) name_in_order(world, artifacts, random);
  // The order is random, reversed or unchanged.
  const auto kind = random() % 3;
  if (kind == 0) std::shuffle(artifacts.begin(), artifacts.end(), random);
  if (kind == 1) std::reverse(artifacts.begin(), artifacts.end());
  std::size_t at = 0;
  while (at < artifacts.size()) {
    const std::size_t end = std::min(artifacts.size(), at + 1 + random() % 60);
    world.receive([&](Receipt& receipt) {
      for (; at < end; ++at) {
        const std::string& content = artifacts[at];
        if (random() % 3 != 0) {
          REQUIRE(receipt.store(whole(content)));
          continue;
        }
        const std::string& source = artifacts[random() % artifacts.size()];
        const auto stored = receipt.store(
            delta(name_of(content), name_of(source), artifact::delta_create(source, content)));
        // A delta that makes two artifacts deltas on each other is refused. The artifact is then
        // stored whole.
        if (!stored) REQUIRE(receipt.store(whole(content)));
      }
    });
  }
  // Some artifacts were received only as deltas on each other in a loop, so they are still waiting.
  // They become complete when all artifacts are stored without deltas.
  world.receive([&](Receipt& receipt) {
    for (const std::string& content : artifacts) REQUIRE(receipt.store(whole(content)));
  });
}

/// Calls TEST with $QUARRY_TEST_CASES seeds (default: 12), starting at $QUARRY_TEST_SEED (default:
/// 1).
template <typename Test>
void for_seeds(Test&& test) {
  const char* cases = std::getenv("QUARRY_TEST_CASES");
  const char* first = std::getenv("QUARRY_TEST_SEED");
  const int count = cases != nullptr ? std::atoi(cases) : 12;
  const int start = first != nullptr ? std::atoi(first) : 1;
  for (int seed = start; seed < start + count; ++seed) test(static_cast<std::uint32_t>(seed));
}

}  // namespace

TEST_CASE("the derived tables are a function of the artifacts, and nearly all fossil rebuild's") {
  for_seeds([](std::uint32_t seed) {
    CAPTURE(seed);
    for (const auto kind : {History::Kind::kPlain, History::Kind::kAmbiguous}) {
      CAPTURE(static_cast<int>(kind));
      const std::vector<std::string> artifacts = History(seed, kind).make(60);
      std::mt19937 random(seed);
      World world, other;
      receive_shuffled(world, artifacts, random);
      receive_shuffled(other, artifacts, random);
      CHECK(difference(derived_text(world.file()), derived_text(other.file())) == "");
      check_derived(world);
      CHECK(world.fossil("test-integrity -R " + world.file().string()));
    }
  });
}

TEST_CASE("tags that set parents of check-ins have the same effect in any order of arrival") {
  for_seeds([](std::uint32_t seed) {
    CAPTURE(seed);
    std::mt19937 random(seed);
    std::vector<std::string> artifacts = History(seed, History::Kind::kAmbiguous).make(40);
    std::vector<HashName> check_ins;
    for (const std::string& content : artifacts) {
      const auto parsed = artifact::parse_structural(content);
      if (parsed && parsed->type == artifact::StructuralType::kCheckIn) {
        check_ins.push_back(name_of(content));
      }
    }
    for (std::int64_t date = 1; date <= 8; ++date) {
      const std::size_t child = 1 + random() % (check_ins.size() - 1);
      ControlText text;
      text.date = {History::kStart + date / 2 * 86'400'000};
      text.user = "u";
      text.tags = {{random() % 4 == 0 ? '-' : '+', "parent", check_ins[child],
                    std::string(check_ins[random() % child].str())}};
      artifacts.push_back(format_control(text));
    }
    World world, other;
    receive_shuffled(world, artifacts, random);
    receive_shuffled(other, artifacts, random);
    CHECK(difference(derived_text(world.file()), derived_text(other.file())) == "");
    check_derived(world);
  });
}

TEST_CASE("clusters leave correct derived tables") {
  for_seeds([](std::uint32_t seed) {
    CAPTURE(seed);
    World world;
    std::mt19937 random(seed);
    for (const std::string& artifact : History(seed, History::Kind::kPlain).make(30)) {
      world.receive([&](Receipt& receipt) {
        REQUIRE(receipt.store(whole(artifact)));
        if (random() % 20 == 0) REQUIRE(receipt.make_clusters());
      });
    }
    check_derived(world);
  });
}

TEST_CASE("the random histories contain every kind of artifact") {
  std::map<artifact::StructuralType, int> count;
  for (const std::string& content : History(1, History::Kind::kAmbiguous).make(60)) {
    if (const auto parsed = artifact::parse_structural(content)) ++count[parsed->type];
  }
  using enum artifact::StructuralType;
  for (const auto type :
       {kCheckIn, kControl, kWiki, kTicketChange, kAttachment, kTechnote, kForumPost}) {
    CAPTURE(static_cast<int>(type));
    CHECK(count[type] >= 20);
  }
}

TEST_CASE("a tag sets the parents of a check-in") {
  std::int64_t date = 1600000000000;
  const auto check_in = [&](std::vector<HashName> parents, std::vector<std::string> files,
                            const std::string& branch) {
    artifact::CheckInText text;
    text.comment = "c";
    text.date = {date += 86'400'000};
    text.user = "u";
    for (const std::string& file : files) {
      text.files.push_back({.name = file.substr(0, 1), .hash = name_of(file), .permission = 0});
    }
    text.parents = std::move(parents);
    if (!branch.empty()) {
      text.tags = {{'*', "branch", branch}, {'*', "sym-" + branch, ""}};
    }
    return artifact::format_check_in(text);
  };
  const std::string root = check_in({}, {"f1"}, "trunk");
  const std::string left = check_in({name_of(root)}, {"f2"}, "");
  const std::string right = check_in({name_of(root)}, {"f1", "g1"}, "right");
  const std::string other = check_in({name_of(root)}, {"f1", "h1"}, "other");
  const std::string merge = check_in({name_of(left), name_of(right)}, {"f2", "g1"}, "");
  const std::string after = check_in({name_of(merge)}, {"f2"}, "");

  std::vector<std::string> artifacts = {root, left, right, other, merge, after};
  for (const char* file : {"f1", "f2", "g1", "h1"}) artifacts.emplace_back(file);
  struct Case {
    std::string child;
    std::vector<std::string> parents;
  };
  for (const auto& [child, parents] : {Case{merge, {right, left}},
                                       {merge, {other}},
                                       {merge, {root, other, right}},
                                       {after, {root}},  // root is the grandparent
                                       {root, {other}},
                                       {merge, {"nobody has it"}}}) {
    CAPTURE(parents);
    std::string value;
    for (const std::string& parent : parents) value += fmt::format(" {}", name_of(parent).str());
    ControlText text;
    text.date = {date + 86'400'000};
    text.user = "u";
    text.tags = {{'+', "parent", name_of(child), value.substr(1)}};
    World world;
    world.put_all(artifacts);
    world.put(format_control(text));
    for (const std::string& parent : parents) {
      CHECK(world.sql(fmt::format(
                "SELECT isprim FROM plink WHERE cid=(SELECT rid FROM blob WHERE uuid='{}')"
                " AND pid=(SELECT rid FROM blob WHERE uuid='{}')",
                name_of(child).str(), name_of(parent).str())) ==
            (parent == parents.front() ? "1" : "0"));
    }
    check_derived(world);
  }
}

TEST_CASE("shunned artifacts are not a fault, before or after a rebuild") {
  World world;
  for (const std::string& artifact : History(3, History::Kind::kPlain).make(12))
    world.put(artifact);
  REQUIRE(faults(world.file()) == "");
  SUBCASE("all") {
    world.sql("INSERT INTO shun(uuid,mtime) SELECT uuid,0 FROM blob");
  }
  SUBCASE("some that are not structural") {
    world.sql(
        "INSERT INTO shun(uuid,mtime) SELECT uuid,0 FROM blob WHERE rid%2=0"
        " AND rid NOT IN (SELECT objid FROM event) AND rid NOT IN (SELECT srcid FROM tagxref)");
  }
  CHECK(
      world.sql("SELECT count(*)>0 FROM unclustered JOIN blob USING(rid) JOIN shun USING(uuid)") ==
      "1");
  CHECK(faults(world.file()) == "");
  REQUIRE(world.fossil("rebuild " + world.file().string()));
  CHECK(faults_in_any_order(world.file()) == "");
}
