// Renames and merges in change sets, as fossil records them.
#include <doctest/doctest.h>
#include <fmt/core.h>

#include <string>
#include <vector>

#include "landing_world.h"
#include "quarry/artifact/structural.h"

using namespace quarry;
using namespace quarry::changes;
using namespace quarry::changes::test;

namespace {

/// Returns the order for change set NUMBER, which renames FROM to TO and gives it CONTENT. If BASE
/// is null, the change set is based on the tip.
LandingOrder renaming(LandingWorld& world, int number, const std::string& from,
                      const std::string& to, const FileOf& content,
                      const HashName* base = nullptr) {
  LandingOrder order = world.order(number, {{to, content}}, {from});
  order.files.front().prior = from;
  if (base != nullptr) order.base = base->str();
  return order;
}

/// Returns the F cards of CHECK_IN that have an old name, as "NEW < OLD".
std::vector<std::string> renames(LandingWorld& world, const HashName& check_in) {
  const std::string text = world.manifest(check_in);
  const auto parsed = artifact::parse_structural(text);
  REQUIRE(parsed);
  std::vector<std::string> found;
  for (const artifact::FileCard& card : parsed->files) {
    if (!card.prior.empty()) found.push_back(fmt::format("{} < {}", card.name, card.prior));
  }
  return found;
}

using Names = std::vector<std::string>;

}  // namespace

TEST_CASE("a renamed file has its old name in its F card, and in the derived tables") {
  LandingWorld world;
  world.landed(world.order(1, {{"a", {lines(9)}}, {"run", {"#!", 'x'}}}));
  const HashName base = world.tip();
  auto order = renaming(world, 2, "a", "b", {lines(9, 4)}, &base);
  order.files.push_back({"bin/run", std::make_shared<const std::string>("#!"), 'x', "run"});
  order.files.push_back({"run", nullptr});
  const HashName two = world.landed(order);
  CHECK(world.files() == FilesOf{{"b", {lines(9, 4)}}, {"bin/run", {"#!", 'x'}}});
  CHECK(renames(world, two) == Names{"b < a", "bin/run < run"});
  CHECK(world.manifest(two).find(" w a\n") != std::string::npos);
  CHECK(
      world.sql("SELECT count(*) FROM mlink WHERE pfnid=(SELECT fnid FROM filename WHERE name='a')"
                " AND fnid=(SELECT fnid FROM filename WHERE name='b') AND pid>0") == "1");
  CHECK(faults(world.file()) == "");
}

TEST_CASE("changes on the branch are merged into a renamed file") {
  LandingWorld world;
  world.landed(world.order(1, {{"a", {lines(40)}}}));
  const HashName base = world.tip();
  world.landed(world.order(2, {{"a", {lines(40, 30)}}}));
  const HashName three = world.landed(renaming(world, 3, "a", "b", {lines(40)}, &base));
  CHECK(world.files() == FilesOf{{"b", {lines(40, 30)}}});
  CHECK(renames(world, three) == Names{"b < a"});
  SUBCASE("and later changes under the old name follow it") {
    auto late = world.order(4, {{"a", {lines(40, 2)}}});
    late.base = base.str();
    world.landed(late);
    std::string both = lines(40, 30);
    both.replace(both.find("line 2\n"), 7, "changed\n");
    CHECK(world.files() == FilesOf{{"b", {both}}});
    auto deletion = world.order(5, {}, {"a"});
    deletion.base = base.str();
    CHECK(world.refused(deletion).kind == RefusalKind::kConflict);
  }
  SUBCASE("also if the same change set renames it") {
    world.landed(renaming(world, 4, "a", "b", {lines(40, 2)}, &base));
    CHECK(world.files().size() == 1);
    CHECK(renames(world, world.tip()) == Names{});
  }
  SUBCASE("another new name is a conflict") {
    const Refusal refusal = world.refused(renaming(world, 4, "a", "c", {lines(40)}, &base));
    CHECK(refusal.kind == RefusalKind::kConflict);
    CHECK(refusal.log.find(
              "renamed by the change set, but deleted or renamed to another name on the branch") !=
          std::string::npos);
  }
  CHECK(faults(world.file()) == "");
}

TEST_CASE("renames in one batch are followed too") {
  LandingWorld world;
  world.landed(world.order(1, {{"a", {lines(40)}}}));
  const HashName base = world.tip();
  auto edit = world.order(4, {{"a", {lines(40, 2)}}});
  edit.base = base.str();
  const std::vector<LandingOrder> orders{renaming(world, 2, "a", "b", {lines(40)}, &base),
                                         renaming(world, 3, "b", "c", {lines(40)}), edit};
  const auto outcomes = world.lander.land(orders);
  REQUIRE(outcomes);
  for (const LandingOutcome& each : *outcomes) CHECK(each);
  CHECK(world.files() == FilesOf{{"c", {lines(40, 2)}}});
  CHECK(renames(world, world.tip()) == Names{});
  CHECK(faults(world.file()) == "");
}

TEST_CASE("files can exchange their names, and a new file can take an old name") {
  LandingWorld world;
  world.landed(world.order(1, {{"a", {"a"}}, {"b", {"b"}}, {"c", {"c"}}}));
  const HashName base = world.tip();
  auto order = world.order(2, {{"a", {"b"}}, {"b", {"a"}}, {"c", {"new"}}, {"d", {"c"}}});
  for (ChangedFile& file : order.files) {
    file.prior = file.name == "a" ? "b" : file.name == "b" ? "a" : file.name == "d" ? "c" : "";
  }
  order.base = base.str();
  const HashName two = world.landed(order);
  CHECK(world.files() == FilesOf{{"a", {"b"}}, {"b", {"a"}}, {"c", {"new"}}, {"d", {"c"}}});
  CHECK(renames(world, two) == Names{"a < b", "b < a", "d < c"});
  const HashName three = world.landed(world.rollback(3, {2}));
  CHECK(world.files() == FilesOf{{"a", {"a"}}, {"b", {"b"}}, {"c", {"c"}}});
  CHECK(renames(world, three) == Names{"a < b", "b < a", "c < d"});
  CHECK(faults(world.file()) == "");
}

TEST_CASE("a rollback of several renames gives the file its first name again") {
  LandingWorld world;
  world.landed(world.order(1, {{"a", {lines(40)}}}));
  world.landed(renaming(world, 2, "a", "b", {lines(40)}));
  world.landed(renaming(world, 3, "b", "c", {lines(40)}));
  world.landed(world.order(4, {{"c", {lines(40, 30)}}}));
  const HashName five = world.landed(world.rollback(5, {2, 3}));
  CHECK(world.files() == FilesOf{{"a", {lines(40, 30)}}});
  CHECK(renames(world, five) == Names{"a < c"});
  CHECK(faults(world.file()) == "");
}

TEST_CASE("a rename that the branch or the base does not allow is refused") {
  LandingWorld world;
  world.landed(world.order(1, {{"a", {"a"}}}));
  const HashName base = world.tip();
  world.landed(world.order(2, {{"b", {"other"}}}));
  const Refusal added = world.refused(renaming(world, 3, "a", "b", {"a"}, &base));
  CHECK(added.kind == RefusalKind::kConflict);
  CHECK(added.log.find("the branch has added or changed a file with the new name") !=
        std::string::npos);
  CHECK(world.refused(renaming(world, 4, "none", "c", {"a"}, &base)).kind == RefusalKind::kBadFile);
  world.landed(world.order(5, {}, {"a"}));
  CHECK(world.refused(renaming(world, 6, "a", "c", {"a"}, &base)).kind == RefusalKind::kConflict);
}

TEST_CASE("merged check-ins are parents, and picked ones have Q cards") {
  LandingWorld world;
  world.landed(world.order(1, {{"a", {"a"}}}));
  const HashName base = world.tip();
  const auto on = [&](const char* branch, const FilesOf& files) {
    return world.commit(base, files,
                        {{'*', "branch", branch}, {'*', fmt::format("sym-{}", branch)}});
  };
  const HashName merged = on("feature", {{"a", {"a"}}, {"b", {"b"}}});
  const HashName picked = on("other", {{"a", {"a"}}, {"c", {"c"}}});
  const HashName backed_out = on("third", {{"a", {"a"}}, {"d", {"d"}}});
  const HashName tip = world.tip();
  // Users can give a prefix of 40 digits, because `fossil info` shows only these.
  const auto prefix_of = [](const HashName& name) {
    return *HashName::parse(name.str().substr(0, 40));
  };
  auto order = world.order(2, {{"b", {"b"}}});
  order.merges = {{MergeKind::kMerge, merged},
                  {MergeKind::kCherrypick, picked},
                  {MergeKind::kBackout, backed_out},
                  {MergeKind::kMerge, merged},
                  {MergeKind::kBackout, merged},  // fossil also records a merge that is backed out
                  {MergeKind::kMerge, tip},
                  {MergeKind::kMerge, prefix_of(tip)},
                  {MergeKind::kMerge, prefix_of(merged)}};
  const HashName two = world.landed(order);
  const std::string text = world.manifest(two);
  CHECK(text.find(fmt::format("\nP {} {}\n", tip.str(), merged.str())) != std::string::npos);
  CHECK(text.find(fmt::format("\nQ +{}\n", picked.str())) != std::string::npos);
  CHECK(text.find(fmt::format("\nQ -{}\n", backed_out.str())) != std::string::npos);
  CHECK(text.find(fmt::format("\nQ -{}\n", merged.str())) != std::string::npos);
  CHECK(world.sql("SELECT count(*) FROM phantom") == "0");
  CHECK(world.sql("SELECT count(*) FROM plink WHERE NOT isprim") == "1");
  CHECK(world.sql("SELECT count(*) FROM cherrypick") == "3");

  // The branch now contains the merge, so it is not recorded again.
  auto again = world.order(5, {{"b", {"b"}}, {"e", {"e"}}});
  again.base = base.str();
  again.merges = {{MergeKind::kMerge, merged}};
  const std::string later = world.manifest(world.landed(again));
  CHECK(later.find(fmt::format("\nP {}\n", two.str())) != std::string::npos);

  // Of change sets that land together, only the first one records a merge.
  const HashName shared = on("shared", {{"a", {"a"}}, {"f", {"f"}}});
  auto first = world.order(6, {{"f", {"f"}}}), second = world.order(7, {{"g", {"g"}}});
  first.merges = second.merges = {{MergeKind::kMerge, shared}};
  const auto both = world.lander.land(std::vector{first, second}, nullptr);
  REQUIRE(both);
  REQUIRE(both->size() == 2);
  const HashName of_first = (*both)[0]->check_in;
  CHECK(world.manifest(of_first).find(std::string(shared.str())) != std::string::npos);
  CHECK(world.manifest((*both)[1]->check_in).find(fmt::format("\nP {}\n", of_first.str())) !=
        std::string::npos);

  // fossil records a merge even if it does not change any file.
  auto empty = world.order(3, {});
  empty.merges = {{MergeKind::kMerge, picked}};
  CHECK(world.manifest(world.landed(empty)).find(std::string(picked.str())) != std::string::npos);
  empty = world.order(4, {});
  empty.merges = {{MergeKind::kCherrypick, backed_out}};
  CHECK(world.refused(empty).kind == RefusalKind::kNothing);
  empty.merges = {{MergeKind::kMerge, repository::test::name_of("missing")}};
  const Refusal missing = world.refused(empty);
  CHECK(missing.kind == RefusalKind::kNoBase);
  CHECK(missing.reason.starts_with("a merged check-in: "));
  CHECK(faults(world.file()) == "");
}
