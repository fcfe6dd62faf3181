#include <doctest/doctest.h>

#include <algorithm>
#include <cstdlib>
#include <map>
#include <random>

#include "history.h"
#include "quarry/artifact/delta.h"
#include "world.h"

using namespace quarry;
using quarry::artifact::HashName;
using namespace quarry::repository;
using namespace quarry::repository::test;

namespace {

/// Makes a phantom of each of ARTIFACTS, as for `igot` cards, in an order that RANDOM chooses.
void name_in_order(World& world, std::vector<std::string> artifacts, std::mt19937& random) {
  std::shuffle(artifacts.begin(), artifacts.end(), random);
  world.receive([&](Receipt& receipt) {
    for (const std::string& artifact : artifacts) {
      REQUIRE(receipt.add_phantom(name_of(artifact), false));
    }
  });
}

/// Stores ARTIFACTS in an order, in requests and with deltas that RANDOM chooses.
void receive_shuffled(World& world, std::vector<std::string> artifacts, std::mt19937& random) {
  if (random() % 2 == 0) name_in_order(world, artifacts, random);
  // Some orders are nearly the natural one, some its reverse, some none at all.
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
        // Two artifacts may have been made deltas of each other.
        if (!stored) REQUIRE(receipt.store(whole(content)));
      }
    });
  }
  // Whatever still waits in a loop of deltas comes whole.
  world.receive([&](Receipt& receipt) {
    for (const std::string& content : artifacts) REQUIRE(receipt.store(whole(content)));
  });
}

/// Calls TEST with a few seeds; $QUARRY_TEST_CASES and $QUARRY_TEST_SEED ask for more and for
/// others.
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
      artifact::ControlText text;
      text.date = {History::kStart + date / 2 * 86'400'000};
      text.user = "u";
      text.tags = {{random() % 4 == 0 ? '-' : '+', "parent", check_ins[child],
                    std::string(check_ins[random() % child].str())}};
      artifacts.push_back(artifact::format_control(text));
    }
    World world, other;
    receive_shuffled(world, artifacts, random);
    receive_shuffled(other, artifacts, random);
    CHECK(difference(derived_text(world.file()), derived_text(other.file())) == "");
    CHECK(faults(world.file()) == "");
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
  World world;
  std::int64_t date = 1600000000000;
  const auto check_in = [&](std::vector<HashName> parents, std::vector<std::string> files,
                            const std::string& branch) {
    artifact::CheckInText text;
    text.comment = "c";
    text.date = {date += 86'400'000};
    text.user = "u";
    for (const std::string& file : files) {
      text.files.push_back(
          {.name = file.substr(0, 1), .hash = name_of(file), .permission = 0, .prior = {}});
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

  std::vector<std::string> parents;
  std::string child = merge;
  SUBCASE("the same ones the other way round") {
    parents = {right, left};
  }
  SUBCASE("one in place of two") {
    parents = {other};
  }
  SUBCASE("three") {
    parents = {root, other, right};
  }
  SUBCASE("its grandparent") {
    parents = {root}, child = after;
  }
  SUBCASE("the first one gets one") {
    parents = {other}, child = root;
  }
  SUBCASE("one that is not there") {
    parents = {"nobody has it"};
  }
  std::string value;
  for (const std::string& parent : parents) {
    value += std::string(value.empty() ? "" : " ") + std::string(name_of(parent).str());
  }
  artifact::ControlText text;
  text.date = {date += 86'400'000};
  text.user = "u";
  text.tags = {{'+', "parent", name_of(child), value}};
  const std::string control = artifact::format_control(text);

  std::vector<std::string> artifacts = {root, left, right, other, merge, after, control};
  for (const char* file : {"f1", "f2", "g1", "h1"}) artifacts.emplace_back(file);
  for (const std::string& artifact : artifacts) world.put(artifact);
  for (const std::string& parent : parents) {
    CHECK(world.sql("SELECT isprim FROM plink WHERE cid=(SELECT rid FROM blob WHERE uuid='" +
                    std::string(name_of(child).str()) +
                    "') AND pid=(SELECT rid FROM blob WHERE uuid='" +
                    std::string(name_of(parent).str()) + "')") ==
          (parent == parents.front() ? "1" : "0"));
  }
  check_derived(world);
}

TEST_CASE("a recomputation confirms fossil's own tables") {
  World world;
  const std::string file = world.file().string();
  const std::string checkout = (world.folder / "checkout").string();
  const std::string in = "cd '" + checkout + "' && ";
  std::filesystem::create_directory(checkout);
  const auto run = [&](const std::string& command) {
    const std::string line = in + "HOME='" + (world.folder / "").string() +
                             "' USER=ann; export HOME USER; " + command +
                             " >/dev/null 2>&1 </dev/null";
    CAPTURE(command);
    REQUIRE(std::system(line.c_str()) == 0);
  };
  world.repository.reset();
  run("fossil open " + file);
  run("echo 1 >a && echo 2 >b && fossil add a b && fossil commit -m one --no-warnings");
  run("fossil mv --hard a c && fossil rm --hard b && fossil commit -m 'two [abcd1234]' "
      "--no-warnings");
  run("fossil commit --allow-empty -m side --branch side --bgcolor '#abc'");
  run("echo 3 >d && fossil add d && fossil commit -m three --tag rel --no-warnings");
  run("fossil up trunk && fossil merge --cherrypick rel && fossil commit -m cherry --no-warnings");
  run("echo 4 >e && fossil add e && fossil commit -m four --no-warnings");
  run("fossil up side && fossil merge trunk && fossil commit -m merged --no-warnings");
  run("fossil amend trunk -m 'a better comment' --author bob --date '2020-02-02 02:02:02'");
  run("fossil tag add --propagate prop rel && fossil tag cancel prop trunk && fossil tag add x rel "
      "5");
  run("fossil amend side --close && fossil amend trunk --branch main");
  CHECK(faults(world.file()) == "");
  CHECK(world.fossil("rebuild " + file));
  CHECK(faults(world.file()) == "");
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

TEST_CASE("verify finds a flipped byte, a wrong hash and a wrong derived row") {
  World world;
  world.put("some content that is long enough to be compressed, compressed, compressed");
  CHECK(faults(world.file()) == "");
  SUBCASE("flipped byte") {
    world.sql(
        "UPDATE blob SET content=CAST(substr(content,1,20)||x'00'||substr(content,22) AS BLOB)"
        " WHERE rid=2");
    CHECK(faults(world.file()).find("artifact 2") != std::string::npos);
  }
  SUBCASE("wrong name") {
    world.sql("UPDATE blob SET uuid='1'||substr(uuid,2) WHERE rid=2");
    world.sql("UPDATE blob SET uuid='2'||substr(uuid,2) WHERE rid=2");
    CHECK(faults(world.file()).find("does not match its hash") != std::string::npos);
  }
  SUBCASE("wrong size") {
    world.sql("UPDATE blob SET size=size+1 WHERE rid=2");
    CHECK(faults(world.file()).find("blob.size") != std::string::npos);
  }
  SUBCASE("derived row too many") {
    world.sql("INSERT INTO plink(pid,cid,isprim,mtime) VALUES(1,2,1,0.0)");
    CHECK(faults(world.file()).find("plink: unexpected row") != std::string::npos);
  }
  SUBCASE("derived row missing") {
    world.sql("DELETE FROM leaf");
    CHECK(faults(world.file()).find("leaf: missing row") != std::string::npos);
  }
  SUBCASE("unclustered row missing") {
    world.sql("DELETE FROM unclustered WHERE rid=2");
    CHECK(faults(world.file()).find("unclustered: missing row") != std::string::npos);
  }
}
