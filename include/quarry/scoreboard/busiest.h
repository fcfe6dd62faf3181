// Counts the requests of the busiest repositories of a pool.
//
// The table has a fixed size, because a folder can contain many repositories, and clients choose
// which ones they request. If the table is full, a new repository replaces the repository with the
// fewest requests, and takes over its counts ("Space-Saving", Metwally, Agrawal and El Abbadi,
// 2005). So the busiest repositories stay in the table, and counts never decrease. The counts are
// upper bounds, because they can include requests of a replaced repository.
//
// All children of a pool write to the table without a lock. While a repository is replaced, a few
// requests can be counted for the old or the new repository by mistake.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "quarry/scoreboard/state.h"

namespace quarry::scoreboard {

/// Number of repositories that readers get. The table has more entries, so that rarely used
/// repositories do not replace the busiest ones.
inline constexpr std::size_t kMaxBusiest = 10;

struct RepositoryCount {
  FixedText<128> name{};
  std::uint64_t requests = 0;
  std::uint64_t duration = 0;  // total in microseconds
};

struct alignas(64) BusiestMemory {
  static constexpr std::size_t kEntries = 64;
  static constexpr std::size_t kNameWords = sizeof(FixedText<128>) / sizeof(std::uint64_t);
  struct Entry {
    std::atomic<std::uint64_t> key;  // hash of the name; 0: unused
    std::array<std::atomic<std::uint64_t>, kNameWords> name;
    std::atomic<std::uint64_t> requests;
    std::atomic<std::uint64_t> duration;
  };
  std::array<Entry, kEntries> entries;
};

/// Counts a request of the repository NAME that took DURATION microseconds.
void count_request(BusiestMemory& memory, std::string_view name, std::uint64_t duration);
/// Returns the repositories with the most requests, the busiest first, at most kMaxBusiest. Skips
/// invalid entries.
std::vector<RepositoryCount> busiest_in(const BusiestMemory& memory);

}  // namespace quarry::scoreboard
