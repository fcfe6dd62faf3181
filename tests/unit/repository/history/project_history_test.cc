// Compares the history that pages show with the output of fossil.

#include "quarry/repository/project_history.h"

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <sstream>

#include "history.h"
#include "world.h"

using namespace quarry;
using namespace quarry::repository;
using namespace quarry::repository::test;
using artifact::HashName;

namespace {

using Lines = std::vector<std::string>;

/// Joins LINES into one text, which is easier to read in the message of a failed check.
template <typename Container>
std::string text_of(const Container& lines) {
  return fmt::format("{}", fmt::join(lines, "\n"));
}

/// Returns the output lines of `fossil ARGUMENTS` for WORLD's file.
Lines fossil_lines(World& world, const std::string& arguments) {
  CAPTURE(arguments);
  REQUIRE(world.fossil(arguments + " -R " + world.file().string()));
  std::istringstream text(world.fossil_output);
  Lines lines;
  for (std::string line; std::getline(text, line);) {
    while (line.starts_with(' ')) line.erase(0, 1);
    if (!line.empty()) lines.push_back(line);
  }
  return lines;
}

/// Returns the entries of fossil's timeline, and omits other lines of its output.
Lines fossil_timeline(World& world, const std::string& options) {
  Lines lines = fossil_lines(world, "timeline -W 0 -F '%H|%a|%b%n' " + options);
  std::erase_if(lines, [](const std::string& line) { return line.find('|') == std::string::npos; });
  return lines;
}

Lines our_check_ins(World& world, std::size_t limit) {
  const auto snapshot = world.repository->snapshot();
  const auto entries = ProjectHistory(*world.repository).check_ins(limit);
  REQUIRE(entries);
  Lines lines;
  for (const TimelineEntry& entry : *entries) {
    lines.push_back(fmt::format("{}|{}|{}", entry.name.str(), entry.user.empty() ? "?" : entry.user,
                                entry.branch));
  }
  return lines;
}

std::vector<Branch> branches_of(World& world, std::size_t limit = 1000) {
  const auto snapshot = world.repository->snapshot();
  const auto branches = ProjectHistory(*world.repository).branches(limit);
  REQUIRE(branches);
  return *branches;
}

Lines names_of(const std::vector<Branch>& branches, bool closed) {
  Lines names;
  for (const Branch& branch : branches) {
    if (branch.is_closed == closed) names.push_back(branch.name);
  }
  return names;
}

std::vector<Tag> tags_of(World& world) {
  const auto snapshot = world.repository->snapshot();
  const auto tags = ProjectHistory(*world.repository).tags(1000);
  REQUIRE(tags);
  return *tags;
}

/// Stores a history with artifacts of all types in WORLD.
void receive_history(World& world, std::uint32_t seed) {
  const Lines artifacts = History(seed, History::Kind::kPlain).make(60);
  world.receive([&](Receipt& receipt) {
    for (const std::string& content : artifacts) REQUIRE(receipt.store(whole(content)));
  });
}

}  // namespace

TEST_CASE("the check-ins of the timeline are the same as fossil's") {
  for (const std::uint32_t seed : {1U, 2U, 3U}) {
    World world;
    receive_history(world, seed);
    for (const std::size_t limit : {1000U, 7U}) {
      CHECK(text_of(our_check_ins(world, limit)) ==
            text_of(fossil_timeline(world, fmt::format("-n {} -t ci", limit))));
    }
  }
}

TEST_CASE("an entry of the timeline shows amendments") {
  World world;
  const HashName root = world.root();
  const HashName made = world.put(check_in_on({root}, 1));
  REQUIRE(world.fossil("amend " + std::string(made.str()) +
                       " -m 'a better comment' --author bob --date '2020-02-02 02:02:02' -R " +
                       world.file().string()));
  const auto snapshot = world.repository->snapshot();
  const auto entries = ProjectHistory(*world.repository).check_ins(10);
  REQUIRE(entries);
  REQUIRE(entries->size() == 2);
  const TimelineEntry& entry = entries->back();
  CHECK(entry.name == made);
  CHECK(entry.kind == ArtifactKind::kCheckIn);
  CHECK(entry.comment == "a better comment");
  CHECK(entry.user == "bob");
  CHECK(entry.branch == "trunk");
  CHECK(entry.time.value == 1580608922000);
}

TEST_CASE("open and closed branches and their tips are the same as fossil's") {
  for (const std::uint32_t seed : {1U, 2U, 3U}) {
    World world;
    receive_history(world, seed);
    const std::vector<Branch> branches = branches_of(world);
    // For each branch, fossil reports the newest check-in. A branch is not compared if this
    // check-in has a child with an earlier date.
    const std::string odd = world.sql(
        "SELECT '|'||coalesce(group_concat(name,'|'),'')||'|' FROM (SELECT value AS name, rid,"
        " max(event.mtime) FROM tagxref JOIN event ON objid=rid WHERE tagxref.tagid=8 AND tagtype>0"
        " GROUP BY 1) WHERE rid NOT IN (SELECT rid FROM leaf)");
    const auto sorted = [&](Lines names) {
      std::erase_if(names, [&](const std::string& name) {
        return odd.find("|" + name + "|") != std::string::npos;
      });
      std::ranges::sort(names);
      return text_of(names);
    };
    const std::string open = sorted(fossil_lines(world, "branch list"));
    const std::string closed = sorted(fossil_lines(world, "branch list -c"));
    CHECK(sorted(names_of(branches, false)) == open);
    CHECK(sorted(names_of(branches, true)) == closed);
    CHECK(open.size() + closed.size() > 20);
    CHECK(std::ranges::is_sorted(branches, std::ranges::greater(),
                                 [](const Branch& branch) { return branch.changed.value; }));
    CHECK(branches_of(world, 1).size() == 1);
  }
}

TEST_CASE("the tip of a forked branch is its newest leaf, open or closed") {
  World world;
  const HashName root = world.root();
  world.put(check_in_on({root}, 1));
  const HashName second = world.put(check_in_on({root}, 2));
  const std::string on = " -R " + world.file().string();
  const auto trunk = [&] {
    const std::vector<Branch> branches = branches_of(world);
    REQUIRE(branches.size() == 1);
    CHECK(branches[0].name == "trunk");
    CHECK(branches[0].tip == second);
    return branches[0];
  };
  CHECK_FALSE(trunk().is_closed);
  REQUIRE(world.fossil("info trunk" + on));
  CAPTURE(world.fossil_output);
  CHECK(world.fossil_output.find(second.str().substr(0, 40)) != std::string::npos);

  REQUIRE(world.fossil("amend " + std::string(second.str()) + " --close" + on));
  CHECK(trunk().is_closed);
  CHECK(fossil_lines(world, "branch list -c") == Lines{"trunk"});
}

TEST_CASE("tags are the same as fossil's, with their targets") {
  World world;
  const HashName root = world.root();
  const HashName one = world.put(check_in_on({root}, 1));
  const HashName two = world.put(check_in_on({one}, 2));
  const std::string on = " -R " + world.file().string();
  REQUIRE(world.fossil("tag add v1 " + std::string(one.str()) + on));
  REQUIRE(world.fossil("tag add v2 " + std::string(one.str()) + on));
  REQUIRE(world.fossil("tag add v3 " + std::string(one.str()) + on));
  REQUIRE(world.fossil("tag cancel v2 " + std::string(one.str()) + on));
  REQUIRE(world.fossil("tag add v3 " + std::string(two.str()) + on));
  std::set<std::string> listed;
  for (const std::string& line : fossil_lines(world, "tag list --tagtype singleton")) {
    listed.insert(line);
  }
  std::set<std::string> ours;
  for (const Tag& tag : tags_of(world)) {
    ours.insert(tag.name);
    if (tag.name == "v1") CHECK(tag.target == one);
    if (tag.name == "v3") CHECK(tag.target == two);
  }
  CHECK(ours == std::set<std::string>{"v1", "v3"});
  CHECK(std::ranges::includes(listed, ours));
}

TEST_CASE("private artifacts are not on any page") {
  World world;
  const HashName root = world.root();
  const std::string hidden =
      check_in_on({root}, 5, {{.kind = '*', .name = "branch", .value = "dark"}}, "secret");
  world.put_private("secret");
  world.put_private(hidden);
  REQUIRE(world.sql("SELECT count(*) FROM event WHERE type='ci'") == "2");
  CHECK(our_check_ins(world, 10).size() == 1);
  for (const Branch& branch : branches_of(world)) CHECK(branch.name != "dark");
}
