#include "quarry/changes/landing.h"

#include <doctest/doctest.h>
#include <fmt/core.h>

#include "landing_world.h"
#include "quarry/artifact/digest.h"
#include "quarry/artifact/structural.h"

using namespace quarry;
using namespace quarry::changes;
using namespace quarry::changes::test;
using repository::test::name_of;

namespace {

/// Computes the checksum that the R card of a check-in with FILES must have.
std::string checksum_of(const FilesOf& files) {
  std::string all;
  for (const auto& [name, file] : files) {
    all += fmt::format("{} {}\n{}", name, file.content.size(), file.content);
  }
  return artifact::md5_hex(all);
}

std::string rcvfrom(LandingWorld& world, const HashName& check_in) {
  return world.sql(
      "SELECT uid || ' ' || ipaddr FROM rcvfrom WHERE rcvid=(SELECT rcvid FROM blob"
      " WHERE uuid='" +
      std::string(check_in.str()) + "')");
}

}  // namespace

TEST_CASE("a change set lands on a tip with an SSH signature") {
  LandingWorld world;
  const HashName base = world.landed(world.order(1, {{"a", {"1"}}}));
  world.clock.advance(5000);
  const std::string text =
      "-----BEGIN SSH SIGNED MESSAGE-----\n\n" +
      artifact::format_check_in({.comment = "signed",
                                 .date = world.clock.now(),
                                 .user = "bob",
                                 .files = {{"a", name_of("1"), 0, ""}},
                                 .parents = {base},
                                 .repository_checksum = checksum_of({{"a", {"1"}}}),
                                 .tags = {}}) +
      "-----BEGIN SSH SIGNATURE-----\nxyz\n-----END SSH SIGNATURE-----\n";
  world.put(text);
  CHECK(world.tip() == name_of(text));
  world.clock.advance(5000);
  world.landed(world.order(2, {{"b", {"2"}}}));
  CHECK(world.manifest(world.tip()).find("P " + std::string(name_of(text).str()) + "\n") !=
        std::string::npos);
  CHECK(world.sql("SELECT count(*) FROM leaf") == "1");
  CHECK(faults(world.file()) == "");
}

TEST_CASE("a change set becomes a check-in at the tip, the same as one by fossil") {
  LandingWorld world;
  const HashName root = world.tip();
  world.clock.advance(5000);
  const HashName one = world.landed(world.order(
      1, {{"a.c", {"int a;\n"}}, {"bin/run", {"#!/bin/sh\n", 'x'}}, {"to", {"a.c", 'l'}}}));
  CHECK(world.tip() == one);
  const std::string text = world.manifest(one);
  const auto parsed = artifact::parse_structural(text);
  REQUIRE(parsed);
  CHECK(parsed->comment == "change set 1");
  CHECK(parsed->user == "ann");
  CHECK(parsed->parents == std::vector<std::string_view>{root.str()});
  CHECK(parsed->date == world.clock.now());
  REQUIRE(parsed->tags.size() == 1);
  CHECK(parsed->tags[0].name == "cs-0000000000000001");
  CHECK(parsed->tags[0].kind == '+');
  const FilesOf files = world.files();
  CHECK(files ==
        FilesOf{{"a.c", {"int a;\n"}}, {"bin/run", {"#!/bin/sh\n", 'x'}}, {"to", {"a.c", 'l'}}});
  CHECK(parsed->repository_checksum == checksum_of(files));
  CHECK(rcvfrom(world, one) == "1 192.0.2.7");
  CHECK(world.sql("SELECT comment FROM event WHERE type='ci' ORDER BY mtime DESC") ==
        "change set 1");
  CHECK(world.sql("SELECT count(*) FROM unclustered") == "5");  // landing does not make clusters
  CHECK(faults(world.file()) == "");
}

TEST_CASE("the next change set builds on it: changed, added and deleted files, in order of time") {
  LandingWorld world;
  world.landed(world.order(1, {{"a", {lines(100)}}, {"b", {"b"}}, {"c/d", {"d"}}}));
  const HashName one = world.tip();
  const HashName two = world.landed(world.order(2, {{"a", {lines(100, 50)}}, {"e", {"e"}}}, {"b"}));
  CHECK(world.files() == FilesOf{{"a", {lines(100, 50)}}, {"c/d", {"d"}}, {"e", {"e"}}});
  const auto first = artifact::parse_structural(world.manifest(one));
  const auto second = artifact::parse_structural(world.manifest(two));
  CHECK(second->repository_checksum == checksum_of(world.files()));
  // The dates ascend although the test's clock does not advance.
  CHECK(second->date->value > first->date->value);
  CHECK(world.files(one).at("a").content == lines(100));
  // The changed file is stored as a delta.
  CHECK(world.sql("SELECT count(*) FROM delta") != "0");
  CHECK(faults(world.file()) == "");
}

TEST_CASE("a landed change set is recognized by its tag, whoever lands it again") {
  LandingWorld world;
  const LandingOrder order = world.order(1, {{"a", {"a"}}});
  const HashName one = world.landed(order);
  world.landed(world.order(2, {{"a", {"b"}}}));
  const auto again = world.land(order);
  REQUIRE(again);
  CHECK(again->was_there);
  CHECK(again->check_in == one);
  CHECK(world.files().at("a").content == "b");

  // Simulates a process that starts after the first process has crashed.
  auto opened = repository::Repository::open(world.file(), {.clock = &world.clock});
  REQUIRE(opened);
  Lander other(**opened);
  const auto outcomes = other.land({&order, 1});
  REQUIRE(outcomes);
  CHECK(outcomes->front()->was_there);
  CHECK(outcomes->front()->check_in == one);
}

TEST_CASE("a tag that somebody else has pushed is not trusted") {
  LandingWorld world;
  world.sql("INSERT INTO user(uid,login,cap) VALUES(70,'eve','ei'),(71,'bob','ei')");
  const auto landing = world.order(1, {{"a", {"bob's"}}});
  auto of_bob = landing;
  of_bob.submitter = of_bob.author = "bob";
  const HashName before = world.tip();
  const HashName forged = world.commit(
      before, {},
      {{'*', "branch", "aside"}, {'*', "sym-aside", ""}, {'+', "cs-0000000000000001", ""}});
  const auto bring = [&](int user) {
    world.sql("UPDATE rcvfrom SET uid=" + std::to_string(user) +
              " WHERE rcvid=(SELECT rcvid FROM blob WHERE uuid='" + std::string(forged.str()) +
              "')");
  };
  // The tag counts only if the submitter or an administrator has pushed it. User 71 is the
  // submitter bob, and user 70 is eve.
  bring(71);
  CHECK(world.lander.land({&of_bob, 1})->front()->was_there);
  bring(70);
  const auto outcomes = world.lander.land({&of_bob, 1});
  REQUIRE(outcomes->front());
  CHECK_FALSE(outcomes->front()->was_there);
  CHECK(world.files().at("a").content == "bob's");
  auto rollback = world.order(2, {});
  rollback.rolls_back.push_back({id_of(1), "bob"});
  world.landed(rollback);
  CHECK_FALSE(world.files().contains("a"));
}

TEST_CASE("a prepared change set does not land if another process has already landed it") {
  LandingWorld world;
  const LandingOrder order = world.order(1, {{"a", {"a"}}});
  auto prospect = world.lander.prepare({&order, 1});
  REQUIRE(prospect);
  auto opened = repository::Repository::open(world.file(), {.clock = &world.clock});
  REQUIRE(opened);
  Lander other(**opened);
  REQUIRE(other.land({&order, 1}));
  const auto committed = world.lander.commit(*prospect);
  REQUIRE(committed);
  CHECK_FALSE(*committed);
  CHECK(world.sql("SELECT count(*) FROM event WHERE type='ci'") == "2");
}

TEST_CASE("new artifacts are named according to hash-policy") {
  LandingWorld world;
  world.receive(
      [&](repository::Receipt& receipt) { REQUIRE(receipt.set_config("hash-policy", "0")); });
  const HashName one = world.landed(world.order(1, {{"a", {"a"}}}));
  CHECK(one.algorithm() == artifact::HashAlgorithm::kSha1);
  CHECK(world.manifest(one).find("F a " + artifact::sha1_hex("a")) != std::string::npos);
  world.receive(
      [&](repository::Receipt& receipt) { REQUIRE(receipt.set_config("hash-policy", "4")); });
  const HashName two = world.landed(world.order(2, {{"b", {"b"}}}));
  CHECK(two.algorithm() == artifact::HashAlgorithm::kSha3_256);
  CHECK(world.manifest(two).find("F a " + artifact::sha1_hex("a")) != std::string::npos);
  CHECK(faults(world.file()) == "");
}

TEST_CASE("there is no R card if the setting is off or a file is missing") {
  LandingWorld world;
  world.receive(
      [&](repository::Receipt& receipt) { REQUIRE(receipt.set_config("repo-cksum", "0")); });
  world.landed(world.order(1, {{"a", {"a"}}}));
  CHECK(world.manifest(world.tip()).find("\nR ") == std::string::npos);
  world.receive([&](repository::Receipt& receipt) {
    REQUIRE(receipt.set_config("repo-cksum", std::nullopt));
  });
  world.landed(world.order(2, {{"b", {"b"}}}));
  CHECK(world.manifest(world.tip()).find("\nR " + checksum_of(world.files())) != std::string::npos);
  world.clock.advance(60'000);
  world.put(artifact::format_check_in({.comment = "files that have not come",
                                       .date = world.clock.now(),
                                       .user = "bob",
                                       .files = {{"m", name_of("missing"), 0, ""}},
                                       .parents = {world.tip()},
                                       .repository_checksum = "",
                                       .tags = {}}));
  world.landed(world.order(3, {{"a", {"a"}}}));
  CHECK(world.manifest(world.tip()).find("\nR ") == std::string::npos);
}

TEST_CASE("a change set lands on the branch that it names, and stays there") {
  LandingWorld world;
  const HashName root = world.tip();
  world.commit(root, {{"f", {"f"}}},
               {{'*', "branch", "side"}, {'*', "sym-side", ""}, {'-', "sym-trunk", ""}});
  LandingOrder order = world.order(1, {{"a", {"a"}}});
  order.branch = "side";
  const HashName one = world.landed(order);
  CHECK(world.tip("side") == one);
  CHECK(world.tip() == root);
  CHECK(world.files(one) == FilesOf{{"a", {"a"}}, {"f", {"f"}}});
}

TEST_CASE("a change to an older check-in is merged with later changes of the branch") {
  LandingWorld world;
  const HashName base = world.landed(world.order(1, {{"both", {lines(40)}},
                                                     {"ours", {"1"}},
                                                     {"theirs", {"1"}},
                                                     {"gone", {"1"}},
                                                     {"mode", {"m"}}}));
  world.landed(world.order(2, {{"both", {lines(40, 3, "ours")}}, {"ours", {"2"}}, {"mode", {"m2"}}},
                           {"gone"}));
  LandingOrder order = world.order(
      3, {{"both", {lines(40, 30, "theirs")}}, {"theirs", {"2"}}, {"mode", {"m", 'x'}}}, {"gone"});
  order.base = std::string(base.str().substr(0, 12));
  world.landed(order);
  const FilesOf files = world.files();
  CHECK(files.at("both").content.find("ours\n") != std::string::npos);
  CHECK(files.at("both").content.find("theirs\n") != std::string::npos);
  CHECK(files.at("ours").content == "2");
  CHECK(files.at("theirs").content == "2");
  CHECK(files.at("mode") == FileOf{"m2", 'x'});
  CHECK_FALSE(files.contains("gone"));
  CHECK(artifact::parse_structural(world.manifest(world.tip()))->repository_checksum ==
        checksum_of(files));
  CHECK(faults(world.file()) == "");
}

TEST_CASE("a batch lands in one transaction, one check-in each, without refused orders") {
  LandingWorld world;
  world.landed(world.order(1, {{"a", {"1"}}}));
  const std::string state = world.sql("PRAGMA data_version");
  LandingOrder merged = world.order(4, {{"a", {"3"}}});
  merged.base = std::string(world.tip().str());
  LandingOrder other = world.order(5, {{"c", {"only in what is refused"}}, {"../x", {"x"}}});
  LandingOrder same = world.order(6, {{"d", {"only in what is refused"}}});
  same.submitter = "nobody-known";
  same.address = "198.51.100.9";
  const std::vector<LandingOrder> orders{
      world.order(2, {{"a", {"2"}}}), world.order(3, {{"b", {"1"}}}), merged, other, same,
      world.order(1, {{"a", {"1"}}})};
  const auto outcomes = world.lander.land(orders);
  REQUIRE(outcomes);
  REQUIRE(outcomes->size() == 6);
  CHECK((*outcomes)[0].has_value());
  CHECK((*outcomes)[1].has_value());
  CHECK((*outcomes)[2].error().kind == RefusalKind::kConflict);
  CHECK((*outcomes)[3].error().kind == RefusalKind::kBadFile);
  CHECK((*outcomes)[4].has_value());
  CHECK((*outcomes)[5]->was_there);
  CHECK(world.tip() == (*outcomes)[4]->check_in);
  CHECK(world.files() == FilesOf{{"a", {"2"}}, {"b", {"1"}}, {"d", {"only in what is refused"}}});
  const auto parsed = artifact::parse_structural(world.manifest(world.tip()));
  CHECK(parsed->parents.front() == (*outcomes)[1]->check_in.str());
  CHECK(parsed->repository_checksum == checksum_of(world.files()));
  CHECK(rcvfrom(world, (*outcomes)[0]->check_in) == "1 192.0.2.7");
  CHECK(rcvfrom(world, (*outcomes)[4]->check_in) == "0 198.51.100.9");
  CHECK(faults(world.file()) == "");
}
