// Counters of requests and sync sessions. Each child counts in its own slot. The master keeps the
// sums for children that have exited. Counters and their sums never decrease.
//
// Histogram bounds are fixed and logarithmic: two per decade for times, and powers of four for
// bytes. Each bucket includes its upper bound. The last bucket does not have an upper bound.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <type_traits>

namespace quarry::scoreboard {

/// Request durations in microseconds.
inline constexpr auto kDurationBounds = std::to_array<std::uint64_t>(
    {100, 300, 1'000, 3'000, 10'000, 30'000, 100'000, 300'000, 1'000'000, 3'000'000, 10'000'000,
     30'000'000, 100'000'000, 300'000'000});
/// Reply body sizes in bytes.
inline constexpr auto kReplySizeBounds =
    std::to_array<std::uint64_t>({256, 1U << 10, 4U << 10, 16U << 10, 64U << 10, 256U << 10,
                                  1U << 20, 4U << 20, 16U << 20, 64U << 20, 256U << 20, 1U << 30});

/// Returns the index of the bucket for VALUE.
std::size_t bucket_of(std::span<const std::uint64_t> bounds, std::uint64_t value);

template <std::size_t Bounds>
using Buckets = std::array<std::uint64_t, Bounds + 1>;

struct Counters {
  std::uint64_t accepted = 0;  // requests that were started
  std::uint64_t requests = 0;  // finished requests; all counters below count only these
  std::uint64_t duration = 0;  // total in microseconds
  Buckets<kDurationBounds.size()> durations{};
  std::uint64_t reply_bytes = 0;
  Buckets<kReplySizeBounds.size()> reply_sizes{};
  std::uint64_t status_requests = 0;  // requests for the status page and the live page
  std::uint64_t refusals = 0;         // requests answered with an error
  std::uint64_t failed_logins = 0;
  // Sync sessions by type.
  std::uint64_t clones = 0;
  std::uint64_t pulls = 0;
  std::uint64_t pushes = 0;
  std::uint64_t syncs = 0;
  std::uint64_t sync_duration = 0;  // total for all sessions in microseconds
  Buckets<kDurationBounds.size()> sync_durations{};
  std::uint64_t artifacts_in = 0;
  std::uint64_t artifacts_out = 0;
  std::uint64_t bytes_in = 0;  // bytes on the wire
  std::uint64_t bytes_out = 0;

  std::uint64_t sync_sessions() const { return clones + pulls + pushes + syncs; }

  /// Adds OTHER. Limits the sums, so that is_plausible_sum() stays true.
  void add(const Counters& other);
  /// Returns whether a single child can have counted these values. All values have to be in a sane
  /// range, and consistent with each other. Related values can differ by one request, because a
  /// child might have been killed while it was counting.
  bool is_plausible() const;
  /// Returns whether many children together can have counted these values.
  bool is_plausible_sum() const;
};
static_assert(std::is_trivially_copyable_v<Counters>);
static_assert(sizeof(Counters) % sizeof(std::uint64_t) == 0);

}  // namespace quarry::scoreboard
