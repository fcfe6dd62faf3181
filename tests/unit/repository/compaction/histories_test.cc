// Tests compaction with random histories. The artifacts must stay unchanged, and the derived tables
// must equal the result of `fossil rebuild`.

#include <doctest/doctest.h>

#include <algorithm>
#include <cstdlib>
#include <map>
#include <numeric>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "history.h"
#include "quarry/artifact/delta.h"
#include "quarry/artifact/structural.h"
#include "quarry/repository/compaction.h"
#include "world.h"

using namespace quarry;
using namespace quarry::repository;
using namespace quarry::repository::test;
using enum History::Kind;

namespace {

/// Compacts WORLD's file. Checks that the artifacts are unchanged and that the derived tables
/// equal fossil's.
void check_compaction(World& world) {
  const auto before = contents(world);
  REQUIRE(Compaction(*world.repository).run());
  CHECK(std::stoi(world.sql("SELECT count(*) FROM delta")) > 10);
  CHECK(contents(world) == before);
  check_derived(world);
}

bool is_thorough() {
  return std::getenv("QUARRY_TEST_CASES") != nullptr || std::getenv("QUARRY_TEST_SEED") != nullptr;
}

/// Calls TEST(seed, kind) for each of CASES. If $QUARRY_TEST_CASES (number of seeds) or
/// $QUARRY_TEST_SEED (first seed) is set, calls TEST for all kinds instead. Both variables default
/// to 1.
template <typename Test>
void for_histories(const std::vector<std::pair<std::uint32_t, History::Kind>>& cases, Test&& test) {
  const char* count = std::getenv("QUARRY_TEST_CASES");
  const char* first = std::getenv("QUARRY_TEST_SEED");
  const auto try_one = [&](std::uint32_t seed, History::Kind kind) {
    CAPTURE(seed);
    CAPTURE(static_cast<int>(kind));
    test(seed, kind);
  };
  if (!is_thorough()) {
    for (const auto& [seed, kind] : cases) try_one(seed, kind);
    return;
  }
  std::vector<std::uint32_t> seeds(count != nullptr ? std::strtoul(count, nullptr, 10) : 1);
  std::iota(seeds.begin(), seeds.end(), first != nullptr ? std::atoi(first) : 1);
  for (const std::uint32_t seed : seeds) {
    for (const auto kind : {kPlain, kOrdered, kAmbiguous}) try_one(seed, kind);
  }
}

/// Returns a delta source for CONTENT, or nullptr. The source of a check-in is its first parent.
/// The source of a file is the last of FILES with the same first line. BY_NAME contains all
/// artifacts.
const std::string* version_before(const std::string& content,
                                  const std::map<std::string, std::string>& by_name,
                                  const std::vector<std::string>& files) {
  if (const auto parsed = artifact::parse_structural(content)) {
    if (parsed->parents.empty()) return nullptr;
    const auto found = by_name.find(std::string(parsed->parents.front()));
    return found == by_name.end() ? nullptr : &found->second;
  }
  const std::string line = content.substr(0, content.find('\n'));
  const auto last = std::find_if(files.rbegin(), files.rend(), [&](const std::string& file) {
    return file != content && file.starts_with(line + "\n");
  });
  return last == files.rend() ? nullptr : &*last;
}

/// Stores COMING like a client's push. If HAS_DELTAS is true, about half of the artifacts are
/// stored as deltas on previous versions from ALL.
void push(World& world, const std::vector<std::string>& all, const std::vector<std::string>& coming,
          bool has_deltas, std::mt19937& random) {
  std::map<std::string, std::string> by_name;
  std::vector<std::string> files;
  for (const std::string& content : all) {
    by_name[std::string(name_of(content).str())] = content;
    if (!artifact::parse_structural(content)) files.push_back(content);
  }
  world.receive([&](Receipt& receipt) {
    for (const std::string& content : coming) {
      const std::string* source =
          has_deltas && random() % 2 != 0 ? version_before(content, by_name, files) : nullptr;
      if (source != nullptr && *source != content &&
          receipt.store(delta(name_of(content), name_of(*source),
                              artifact::delta_create(*source, content)))) {
        continue;
      }
      REQUIRE(receipt.store(whole(content)));
    }
  });
}

/// Checks the compaction of a history that clients have pushed. If HAS_GAPS is true, some artifacts
/// are missing.
void check_pushed(std::uint32_t seed, History::Kind kind, bool has_gaps) {
  World world;
  std::mt19937 random(seed * 7 + static_cast<std::uint32_t>(kind));
  const std::vector<std::string> all = History(seed, kind).make(60);
  std::vector<std::string> coming = all;
  if (has_gaps) std::erase_if(coming, [&](const std::string&) { return random() % 25 == 0; });
  if (random() % 2 != 0) std::ranges::shuffle(coming, random);
  const std::size_t pushes = 1 + random() % 4;
  const bool has_deltas = random() % 3 != 0;
  for (std::size_t i = 0; i < pushes; ++i) {
    const auto from = static_cast<std::ptrdiff_t>(coming.size() * i / pushes);
    const auto to = static_cast<std::ptrdiff_t>(coming.size() * (i + 1) / pushes);
    push(world, all, {coming.begin() + from, coming.begin() + to}, has_deltas, random);
    if (i + 1 < pushes && random() % 2 != 0) REQUIRE(Compaction(*world.repository).run());
  }
  check_derived(world);
  check_compaction(world);
}

}  // namespace

TEST_CASE("histories of every kind are unchanged, and as small as with fossil" *
          doctest::test_suite("long")) {
  std::vector<std::pair<std::uint32_t, History::Kind>> cases;
  for (const std::uint32_t seed : {4u, 19u}) {
    for (const auto kind : {kPlain, kOrdered, kAmbiguous}) cases.emplace_back(seed, kind);
  }
  for_histories(cases, [](std::uint32_t seed, History::Kind kind) {
    const std::vector<std::string> artifacts = History(seed, kind).make(60);
    for (const bool is_shuffled : {false, true}) {
      if (!is_thorough() && is_shuffled != (kind == kPlain)) continue;
      CAPTURE(is_shuffled);
      World world;
      std::mt19937 random(seed);
      std::vector<std::string> coming = artifacts;
      if (is_shuffled && seed % 3 == 0) std::ranges::reverse(coming);
      if (is_shuffled && seed % 3 != 0) std::ranges::shuffle(coming, random);
      world.receive([&](Receipt& receipt) {
        for (const std::string& content : coming) REQUIRE(receipt.store(whole(content)));
      });
      check_compaction(world);
    }
  });
}

TEST_CASE("histories pushed as deltas on earlier versions are as after fossil's rebuild" *
          doctest::test_suite("long")) {
  for_histories({{114, kAmbiguous}, {132, kOrdered}, {161, kAmbiguous}},
                [](auto seed, auto kind) { check_pushed(seed, kind, false); });
}

TEST_CASE("histories with gaps are as after fossil's rebuild") {
  for_histories({{2, kOrdered}, {5, kAmbiguous}},
                [](auto seed, auto kind) { check_pushed(seed, kind, true); });
}
