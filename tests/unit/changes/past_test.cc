#include "past.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <cstdint>
#include <random>
#include <set>
#include <vector>

#include "model_world.h"

using namespace quarry::changes;

namespace {

/// A finished job of a random history.
struct Drawn {
  ModelJob known;
  bool is_old = true;
};

Drawn drawn(std::uint64_t number, std::vector<std::uint64_t> dependencies = {},
            Stage stage = Stage::kDone) {
  Drawn one;
  one.known = job_of(number, {}, dependencies);
  one.known.stage = stage;
  one.known.landed_at = {static_cast<std::int64_t>(number)};
  return one;
}

Past past_of(const std::vector<Drawn>& all) {
  Past past;
  for (const Drawn& one : all) past.add(one.known, one.is_old);
  past.complete();
  return past;
}

/// Deletes all jobs that can be deleted, at most LIMIT at a time. Returns the deleted jobs of each
/// round.
std::vector<std::set<std::uint64_t>> all_gone(Past& past, std::size_t limit = 1'000) {
  std::vector<std::set<std::uint64_t>> rounds;
  for (auto locations = past.next(limit); !locations.empty(); locations = past.next(limit)) {
    auto& round = rounds.emplace_back();
    for (const JobLocation& location : locations) round.insert(number_of(location.name.id));
    for (const JobLocation& location : locations) past.gone(location.name.id);
  }
  return rounds;
}

using Rounds = std::vector<std::set<std::uint64_t>>;

bool has_landed(const Drawn& one) {
  return one.known.stage == Stage::kDone && !one.known.is_rolled_back;
}

/// Returns true if a rollback of J must include F.
bool follows(const Drawn& f, const Drawn& j) {
  if (!has_landed(f) || !has_landed(j)) return false;
  const auto& needed = f.known.dependencies;
  const bool shares =
      f.known.branch == j.known.branch &&
      std::ranges::find_first_of(f.known.files, j.known.files) != f.known.files.end();
  return std::ranges::find(needed, j.known.name.id) != needed.end() ||
         (shares && j.known.landed_at < f.known.landed_at);
}

}  // namespace

TEST_CASE("a job that becomes needed while others are deleted stays from then on") {
  Past past = past_of({drawn(1), drawn(2, {1}), drawn(3, {2}), drawn(4)});
  auto locations = past.next(1'000);
  REQUIRE(locations.size() == 2);
  past.need(id_of(3));
  for (const JobLocation& location : locations) past.gone(location.name.id);
  CHECK(all_gone(past).empty());
}

TEST_CASE("in any history nothing that is needed is deleted, and all else is, in a safe order") {
  std::mt19937 random(3);
  for (int history = 0; history < 2'000; ++history) {
    CAPTURE(history);
    const std::uint64_t count = 2 + random() % 12;
    std::vector<Drawn> all;
    std::set<std::uint64_t> kept, needed;
    for (std::uint64_t number = 1; number <= count; ++number) {
      std::vector<std::uint64_t> dependencies;
      for (std::uint64_t other = 1; other < number; ++other) {
        if (random() % 5 == 0) dependencies.push_back(other);
      }
      auto& one = all.emplace_back(drawn(number, dependencies));
      if (random() % 4 == 0) one.known.stage = Stage::kFail;
      one.known.is_rolled_back = random() % 8 == 0;
      one.is_old = random() % 8 != 0;
      for (const char* file : {"a", "b", "c", "d", "e"}) {
        if (random() % 6 == 0) one.known.files.emplace_back(file);
      }
      if (random() % 4 == 0) one.known.branch = "side";
      if (!one.is_old) kept.insert(number);
      if (random() % 8 == 0) needed.insert(number);
    }
    Past past = past_of(all);
    for (const std::uint64_t number : needed) past.need(id_of(number));
    for (std::uint64_t number = count; number > 0; --number) {
      if (!needed.contains(number)) continue;
      for (const ChangeSetId& id : all[number - 1].known.dependencies) needed.insert(number_of(id));
    }
    kept.insert(needed.begin(), needed.end());
    for (std::size_t before = 0; before != kept.size();) {
      before = kept.size();
      for (const Drawn& f : all) {
        for (const Drawn& j : all) {
          if (kept.contains(number_of(j.known.name.id)) && follows(f, j))
            kept.insert(number_of(f.known.name.id));
        }
      }
    }
    std::set<std::uint64_t> gone;
    for (const auto& round : all_gone(past, 1 + random() % 4)) {
      for (const std::uint64_t number : round) {
        REQUIRE_FALSE(kept.contains(number));
        for (const Drawn& j : all) {
          const std::uint64_t other = number_of(j.known.name.id);
          if (follows(all[number - 1], j)) REQUIRE(gone.contains(other));
        }
      }
      gone.insert(round.begin(), round.end());
    }
    REQUIRE(gone.size() + kept.size() == count);
  }
}
