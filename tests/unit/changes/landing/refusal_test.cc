#include "quarry/changes/landing.h"

#include <doctest/doctest.h>

#include "control_artifact.h"
#include "landing_world.h"
#include "quarry/artifact/digest.h"
#include "quarry/artifact/structural.h"

using namespace quarry;
using namespace quarry::changes;
using namespace quarry::changes::test;
using repository::test::name_of;

TEST_CASE("an order that changes nothing is refused, even if the repository uses another hash") {
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

TEST_CASE("a missing, closed or forked branch is refused with the reason") {
  LandingWorld world;
  const HashName root = world.tip();
  LandingOrder order = world.order(1, {{"a", {"a"}}});
  order.branch = "no-such";
  CHECK(world.refused(order).kind == RefusalKind::kNoBranch);
  CHECK(world.refused(order).reason == "branch no-such does not exist");
  world.commit(root, {}, {{'*', "branch", "side"}, {'*', "sym-side", ""}, {'+', "closed", ""}});
  order.branch = "side";
  CHECK(world.refused(order).kind == RefusalKind::kClosed);
  const HashName one = world.commit(root, {});
  world.commit(root, {});
  order.branch = "trunk";
  CHECK(world.refused(order).kind == RefusalKind::kForked);
  CHECK(world.refused(order).reason.find("2 open leaves") != std::string::npos);
  world.put(format_control(
      {.date = world.clock.now(), .user = "ann", .tags = {{'+', "closed", one, ""}}}));
  world.landed(order);
}

TEST_CASE("all conflicts are listed with their lines, and nothing lands") {
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
  CHECK(refusal.log.find("b: changed, but deleted on the branch\n") != std::string::npos);
  CHECK(refusal.log.find("c: deleted, but changed on the branch\n") != std::string::npos);
  CHECK_FALSE(world.files().contains("free"));
}

TEST_CASE("a base that is missing, private, ambiguous or not a check-in is refused") {
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
    CHECK(refusal.reason == "its base: check-in " + std::string(base.str()) + " does not exist");
  }
  LandingOrder order = world.order(1, {{"a", {"a"}}});
  order.base = "trunk";
  world.landed(order);
}

TEST_CASE("files that cannot land are refused by name") {
  LandingWorld world;
  world.landed(world.order(1, {{"dir/file", {"1"}}, {"file", {"2"}}}));
  const auto refused = [&](const FilesOf& added, const std::vector<std::string>& removed = {}) {
    return world.refused(world.order(2, added, removed));
  };
  const std::string control = format_control(
      {.date = world.clock.now(), .user = "eve", .tags = {{'+', "closed", world.tip(), ""}}});
  const auto wrapped = [&](const std::string& kind) {
    return "-----BEGIN " + kind + " SIGNED MESSAGE-----\n\n" + control + "-----BEGIN " + kind +
           " SIGNATURE-----\nxyz\n-----END " + kind + " SIGNATURE-----\n";
  };
  std::string without_date = control.substr(control.find('\n'));
  without_date = "D now" + without_date.substr(0, without_date.size() - 35);
  const std::string now = without_date + "Z " + artifact::md5_hex(without_date) + "\n";
  for (const FilesOf& files :
       {FilesOf{{"../out", {"x"}}}, FilesOf{{"/abs", {"x"}}}, FilesOf{{"a//b", {"x"}}},
        FilesOf{{".fslckout", {"x"}}}, FilesOf{{"sub/_FOSSIL_", {"x"}}},
        FilesOf{{std::string(2000, 'n'), {"x"}}}, FilesOf{{"link", {"", 'l'}}},
        FilesOf{{"link", {"a\nb", 'l'}}}, FilesOf{{"kind", {"x", 'q'}}},
        FilesOf{{"spoof", {control}}}, FilesOf{{"signed", {wrapped("PGP")}}},
        FilesOf{{"signed", {wrapped("SSH")}}}, FilesOf{{"now", {now}}}}) {
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
  world.landed(world.order(2, {{"dir", {"x"}}, {"file/below", {"y"}}}, {"dir/file", "file"}));
  CHECK(world.files() == FilesOf{{"dir", {"x"}}, {"file/below", {"y"}}});
}

TEST_CASE("shunned content is refused, private content becomes public") {
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

TEST_CASE("orders for two branches, or one order twice, cannot be a batch") {
  LandingWorld world;
  std::vector<LandingOrder> orders{world.order(1, {{"a", {"1"}}}), world.order(1, {{"b", {"1"}}})};
  CHECK(world.lander.land(orders).error().code == ErrorCode::kInvalid);
  orders[1] = world.order(2, {{"b", {"1"}}});
  orders[1].branch = "other";
  CHECK(world.lander.land(orders).error().code == ErrorCode::kInvalid);
  CHECK(world.lander.land({})->empty());
}
