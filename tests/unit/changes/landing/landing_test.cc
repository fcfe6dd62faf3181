// Change sets become check-ins.

#include "quarry/changes/landing.h"

#include <doctest/doctest.h>
#include <fmt/core.h>

#include <algorithm>
#include <atomic>
#include <fstream>
#include <sstream>
#include <thread>

#include "landing_world.h"
#include "quarry/artifact/digest.h"
#include "quarry/artifact/structural.h"

using namespace quarry;
using namespace quarry::changes;
using namespace quarry::changes::test;
using artifact::HashName;
using base::ErrorCode;
using repository::test::faults;
using repository::test::name_of;

namespace {

std::string lines(int count, int changed = -1, const std::string& with = "changed") {
  std::string text;
  for (int i = 0; i < count; ++i) {
    text += i == changed ? with + "\n" : "line " + std::to_string(i) + "\n";
  }
  return text;
}

/// What the R card must be.
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

TEST_CASE("a change set becomes a check-in at the tip, with all that fossil's own has") {
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
  CHECK(world.sql("SELECT count(*) FROM unclustered") == "5");  // clusters are for others to make
  CHECK(faults(world.file()) == "");
}

TEST_CASE("what follows goes on from there: changed, added and removed files, in order of time") {
  LandingWorld world;
  world.landed(world.order(1, {{"a", {lines(100)}}, {"b", {"b"}}, {"c/d", {"d"}}}));
  const HashName one = world.tip();
  const HashName two = world.landed(world.order(2, {{"a", {lines(100, 50)}}, {"e", {"e"}}}, {"b"}));
  CHECK(world.files() == FilesOf{{"a", {lines(100, 50)}}, {"c/d", {"d"}}, {"e", {"e"}}});
  const auto first = artifact::parse_structural(world.manifest(one));
  const auto second = artifact::parse_structural(world.manifest(two));
  CHECK(second->repository_checksum == checksum_of(world.files()));
  // The clock stands still; the history goes on all the same.
  CHECK(second->date->value > first->date->value);
  CHECK(world.files(one).at("a").content == lines(100));
  // A small change of a large file is stored as such.
  CHECK(world.sql("SELECT count(*) FROM delta") != "0");
  CHECK(faults(world.file()) == "");
}

TEST_CASE("a change set that has landed is known by its tag, whoever lands it again") {
  LandingWorld world;
  const LandingOrder order = world.order(1, {{"a", {"a"}}});
  const HashName one = world.landed(order);
  world.landed(world.order(2, {{"a", {"b"}}}));
  const auto again = world.land(order);
  REQUIRE(again);
  CHECK(again->was_there);
  CHECK(again->check_in == one);
  CHECK(world.files().at("a").content == "b");

  // Another process, which comes after the first has died without a word.
  auto opened = repository::Repository::open(world.file(), {.clock = &world.clock});
  REQUIRE(opened);
  Lander other(**opened);
  const auto outcomes = other.land({&order, 1});
  REQUIRE(outcomes);
  CHECK(outcomes->front()->was_there);
  CHECK(outcomes->front()->check_in == one);
}

TEST_CASE("what was prepared before another process landed the same does not land") {
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

TEST_CASE("what changes nothing is refused, also where the repository names it by another hash") {
  LandingWorld world;
  const std::string sha1 = artifact::sha1_hex("a");
  world.receive([&](repository::Receipt& receipt) {
    REQUIRE(receipt.store(
        {.name = *HashName::parse(sha1), .payload = "a", .delta_source = {}, .declared_size = {}}));
  });
  world.clock.advance(60'000);
  world.put(artifact::format_check_in({.comment = "old",
                                       .date = world.clock.now(),
                                       .user = "bob",
                                       .files = {{"a", *HashName::parse(sha1), 0, ""}},
                                       .parents = {world.tip()},
                                       .repository_checksum = "",
                                       .tags = {}}));
  CHECK(world.refused(world.order(1, {{"a", {"a"}}})).kind == RefusalKind::kNothing);
  world.landed(world.order(2, {{"a", {"a", 'x'}}}));
  CHECK(world.manifest(world.tip()).find("F a " + sha1 + " x\n") != std::string::npos);
  CHECK(world.refused(world.order(3, {})).kind == RefusalKind::kNothing);
  CHECK(faults(world.file()) == "");
}

TEST_CASE("new artifacts are named as hash-policy says") {
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

TEST_CASE("there is no R card where the repository wants none, or a file of it is missing") {
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

TEST_CASE("a branch that is missing, closed or forked is told") {
  LandingWorld world;
  const HashName root = world.tip();
  LandingOrder order = world.order(1, {{"a", {"a"}}});
  order.branch = "no-such";
  CHECK(world.refused(order).kind == RefusalKind::kNoBranch);
  CHECK(world.refused(order).reason == "there is no branch no-such");
  world.commit(root, {}, {{'*', "branch", "side"}, {'*', "sym-side", ""}, {'+', "closed", ""}});
  order.branch = "side";
  CHECK(world.refused(order).kind == RefusalKind::kClosed);
  const HashName one = world.commit(root, {});
  world.commit(root, {});
  order.branch = "trunk";
  CHECK(world.refused(order).kind == RefusalKind::kForked);
  CHECK(world.refused(order).reason.find("2 open leaves") != std::string::npos);
  world.put(artifact::format_control(
      {.date = world.clock.now(), .user = "ann", .tags = {{'+', "closed", one, ""}}}));
  world.landed(order);
}

TEST_CASE("work lands on the branch that it names, and stays there") {
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

TEST_CASE("what was made from an older check-in is merged with what the branch has done since") {
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

TEST_CASE("conflicts are all told, with their lines, and nothing lands") {
  LandingWorld world;
  const HashName base =
      world.landed(world.order(1, {{"a", {lines(9)}}, {"b", {"b"}}, {"c", {"c"}}}));
  world.landed(
      world.order(2, {{"a", {lines(9, 4, "ours")}}, {"c", {"c2"}}, {"new", {"1"}}}, {"b"}));
  LandingOrder order = world.order(
      3, {{"a", {lines(9, 4, "theirs")}}, {"b", {"b2"}}, {"new", {"2"}}, {"free", {"f"}}}, {"c"});
  order.base = base.str();
  const Refusal refusal = world.refused(order);
  CHECK(refusal.kind == RefusalKind::kConflict);
  CHECK(refusal.reason.find("4 files: a, b, c, new") != std::string::npos);
  CHECK(refusal.log.find("ours\n") != std::string::npos);
  CHECK(refusal.log.find("theirs\n") != std::string::npos);
  CHECK(refusal.log.find("b: it is changed, but the branch has removed it\n") != std::string::npos);
  CHECK(refusal.log.find("c: it is removed, but the branch has changed it\n") != std::string::npos);
  CHECK_FALSE(world.files().contains("free"));
}

TEST_CASE("a base that is missing, private, ambiguous or no check-in is refused") {
  LandingWorld world;
  const std::string secret = artifact::format_check_in({.comment = "secret",
                                                        .date = world.clock.now(),
                                                        .user = "bob",
                                                        .files = {},
                                                        .parents = {world.tip()},
                                                        .repository_checksum = "",
                                                        .tags = {{'*', "branch", "dark"}}});
  world.receive([&](repository::Receipt& receipt) {
    repository::Arrival arrival = repository::test::whole(secret);
    arrival.is_private = true;
    REQUIRE(receipt.store(arrival));
    REQUIRE(receipt.add_phantom(name_of("phantom"), false));
  });
  const HashName file = world.put("a file");
  for (const HashName& base : {name_of(secret), name_of("phantom"), name_of("unknown"), file}) {
    LandingOrder order = world.order(1, {{"a", {"a"}}});
    order.base = base.str();
    const Refusal refusal = world.refused(order);
    CHECK(refusal.kind == RefusalKind::kNoBase);
    CHECK(refusal.reason == "its base: there is no check-in " + std::string(base.str()));
  }
  LandingOrder order = world.order(1, {{"a", {"a"}}});
  order.base = "trunk";
  world.landed(order);
}

TEST_CASE("files that cannot be are refused by name") {
  LandingWorld world;
  world.landed(world.order(1, {{"dir/file", {"1"}}, {"file", {"2"}}}));
  const auto refused = [&](const FilesOf& added, const std::vector<std::string>& removed = {}) {
    return world.refused(world.order(2, added, removed));
  };
  const std::string control = artifact::format_control(
      {.date = world.clock.now(), .user = "eve", .tags = {{'+', "closed", world.tip(), ""}}});
  for (const FilesOf& files :
       {FilesOf{{"../out", {"x"}}}, FilesOf{{"/abs", {"x"}}}, FilesOf{{"a//b", {"x"}}},
        FilesOf{{".fslckout", {"x"}}}, FilesOf{{"sub/_FOSSIL_", {"x"}}},
        FilesOf{{std::string(2000, 'n'), {"x"}}}, FilesOf{{"link", {"", 'l'}}},
        FilesOf{{"link", {"a\nb", 'l'}}}, FilesOf{{"kind", {"x", 'q'}}},
        FilesOf{{"spoof", {control}}}}) {
    const Refusal refusal = refused(files);
    CHECK(refusal.kind == RefusalKind::kBadFile);
    CHECK(refusal.reason.starts_with(files.begin()->first + ": "));
  }
  CHECK(refused({}, {"absent"}).kind == RefusalKind::kBadFile);
  CHECK(refused({{"dir", {"x"}}}).kind == RefusalKind::kConflict);
  CHECK(refused({{"file/below", {"x"}}}).kind == RefusalKind::kConflict);
  LandingOrder twice = world.order(2, {{"a", {"1"}}});
  twice.files.push_back(twice.files.front());
  CHECK(world.refused(twice).kind == RefusalKind::kBadFile);
  // A folder may become a file, and a file a folder.
  world.landed(world.order(2, {{"dir", {"x"}}, {"file/below", {"y"}}}, {"dir/file", "file"}));
  CHECK(world.files() == FilesOf{{"dir", {"x"}}, {"file/below", {"y"}}});
}

TEST_CASE("a content that is shunned is refused, one that is private becomes public") {
  LandingWorld world;
  world.sql("INSERT INTO shun(uuid,mtime) VALUES('" + std::string(name_of("bad").str()) + "',0)");
  CHECK(world.refused(world.order(1, {{"a", {"bad"}}})).kind == RefusalKind::kBadFile);
  world.receive([&](repository::Receipt& receipt) {
    repository::Arrival arrival = repository::test::whole("secret");
    arrival.is_private = true;
    REQUIRE(receipt.store(arrival));
  });
  world.landed(world.order(2, {{"a", {"secret"}}}));
  CHECK(world.sql("SELECT count(*) FROM private") == "0");
  CHECK(faults(world.file()) == "");
}

TEST_CASE("a batch lands in one transaction, each one a check-in, without those that are refused") {
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

TEST_CASE("orders of two branches, and one order twice, are no batch") {
  LandingWorld world;
  std::vector<LandingOrder> orders{world.order(1, {{"a", {"1"}}}), world.order(1, {{"b", {"1"}}})};
  CHECK(world.lander.land(orders).error().code == ErrorCode::kInvalid);
  orders[1] = world.order(2, {{"b", {"1"}}});
  orders[1].branch = "other";
  CHECK(world.lander.land(orders).error().code == ErrorCode::kInvalid);
  CHECK(world.lander.land({})->empty());
}

TEST_CASE("where the tip moves while a gate decides, all begins anew") {
  LandingWorld world;
  const HashName base = world.landed(world.order(1, {{"a", {lines(40)}}}));
  LandingOrder order = world.order(2, {{"a", {lines(40, 30, "theirs")}}});
  order.base = base.str();
  int asked = 0;
  const auto gate = [&](const Prospect& prospect) -> base::Result<void> {
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

TEST_CASE("a gate's word on a tip that has moved may be taken as it is") {
  LandingWorld world({.asks_gate_again = false});
  int asked = 0;
  const LandingOrder order = world.order(1, {{"a", {"1"}}});
  const auto gate = [&](const Prospect&) -> base::Result<void> {
    if (++asked == 1) world.commit(world.tip(), {{"b", {"b"}}});
    return {};
  };
  REQUIRE(world.lander.land({&order, 1}, gate)->front());
  CHECK(asked == 1);
  CHECK(world.files() == FilesOf{{"a", {"1"}}, {"b", {"b"}}});
}

TEST_CASE("a gate's error ends the landing, and so does a tip that never stands still") {
  LandingWorld world({.attempts = 3});
  const LandingOrder order = world.order(1, {{"a", {"1"}}});
  const auto refused = world.lander.land(
      {&order, 1}, [](const Prospect&) { return base::fail(ErrorCode::kDenied, "no"); });
  REQUIRE_FALSE(refused);
  CHECK(refused.error().message == "no");
  int moved = 0;
  const auto restless = [&](const Prospect&) -> base::Result<void> {
    world.commit(world.tip(), {{"b", {std::to_string(++moved)}}});
    return {};
  };
  const auto busy = world.lander.land({&order, 1}, restless);
  REQUIRE_FALSE(busy);
  CHECK(busy.error().code == ErrorCode::kBusy);
  CHECK(moved == 3);
  CHECK_FALSE(world.files().contains("a"));
}

TEST_CASE("landers that race for a tip land everything once, one after the other") {
  LandingWorld world;
  constexpr int kLanders = 4, kEach = 8;
  std::atomic<int> failures = 0;
  {
    std::vector<std::jthread> threads;
    for (int thread = 0; thread < kLanders; ++thread) {
      threads.emplace_back([&, thread] {
        auto opened = repository::Repository::open(world.file(), {.clock = &world.clock});
        if (!opened) {
          failures += kEach;
          return;
        }
        Lander lander(**opened, {.attempts = 1000});
        for (int i = 0; i < kEach; ++i) {
          // Two of them have each one.
          const int number = (thread / 2) * kEach + i;
          const LandingOrder order =
              world.order(100 + number, {{fmt::format("f{}", number), {"content"}}});
          const auto outcomes = lander.land({&order, 1});
          if (!outcomes || !outcomes->front()) ++failures;
        }
      });
    }
  }
  CHECK(failures == 0);
  CHECK(world.files().size() == kLanders / 2 * kEach);
  CHECK(world.sql("SELECT count(*) FROM event WHERE type='ci'") ==
        std::to_string(1 + kLanders / 2 * kEach));
  CHECK(world.sql("SELECT count(*) FROM leaf") == "1");
  CHECK(faults(world.file()) == "");
}

TEST_CASE("a prospect's files are written into a folder, links as the repository's setting says") {
  LandingWorld world;
  world.landed(world.order(1, {{"dir/sub/a", {"old"}}, {"dir/b", {"b"}}, {"to", {"dir/b", 'l'}}}));
  const LandingOrder order =
      world.order(2, {{"dir/sub/a", {"new"}}, {"run", {"#!/bin/sh\n", 'x'}}}, {"dir/b"});
  auto prospect = world.lander.prepare({&order, 1});
  REQUIRE(prospect);
  const auto written = [&](const std::filesystem::path& folder) {
    std::filesystem::create_directory(folder);
    return world.lander.write_tree(*prospect, folder);
  };
  const auto text_of = [](const std::filesystem::path& file) {
    std::ifstream in(file);
    std::stringstream text;
    text << in.rdbuf();
    return text.str();
  };
  const std::filesystem::path one = world.folder / "one", two = world.folder / "two";
  REQUIRE(written(one));
  CHECK(text_of(one / "dir/sub/a") == "new");
  CHECK(text_of(one / "to") == "dir/b");
  CHECK_FALSE(std::filesystem::is_symlink(one / "to"));
  CHECK_FALSE(std::filesystem::exists(one / "dir/b"));
  const auto mode = [&](const char* name) {
    return std::filesystem::status(one / name).permissions();
  };
  using std::filesystem::perms;
  CHECK((mode("run") & perms::owner_exec) != perms::none);
  CHECK((mode("dir/sub/a") & perms::owner_exec) == perms::none);
  world.receive(
      [&](repository::Receipt& receipt) { REQUIRE(receipt.set_config("allow-symlinks", "1")); });
  REQUIRE(written(two));
  CHECK(std::filesystem::read_symlink(two / "to") == "dir/b");
  // What is there is not written over.
  CHECK(world.lander.write_tree(*prospect, two).error().code == ErrorCode::kIo);
}
