// What the master tells the workers of one pool about all pools, for the operator's page that shows
// all of them: figures, and the last refusals; neither who asks nor for what else.
//
// A worker has the board of its own pool only (scoreboard.h), so the master looks once a second and
// writes here what it saw. The memory can be written in the master alone: its children have but a
// mapping that the kernel lets nobody make writable.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "quarry/base/listen_queue.h"
#include "quarry/base/result.h"
#include "quarry/scoreboard/counters.h"
#include "quarry/scoreboard/refusal_tally.h"
#include "quarry/scoreboard/snapshot.h"
#include "quarry/scoreboard/state.h"

namespace quarry::scoreboard {

/// Figures of a PoolSnapshot, by its names.
struct PoolOverview {
  static constexpr std::size_t kMostStages = 512;

  FixedText<64> pool{};
  std::int64_t monotonic_now = 0;  // microseconds; 0: nothing was told yet
  PoolState state;
  std::uint64_t active = 0;
  std::uint64_t children = 0;  // of all generations
  Counters totals;
  std::uint64_t has_length = 0;  // 0: that of its listen queue is not known
  base::QueueLength length;
  /// A digit of Stage for each child, up to kMostStages.
  FixedText<kMostStages + 8> stages{};
  std::array<Refusal, kMaxRecentRefusals>
      refusals{};  // the newest first; what was at no time is none

  std::optional<base::QueueLength> queue() const {
    return has_length != 0 ? std::optional(length) : std::nullopt;
  }
};
static_assert(std::is_trivially_copyable_v<PoolOverview>);
static_assert(sizeof(PoolOverview) % sizeof(std::uint64_t) == 0);

/// With REFUSALS, the newest first.
PoolOverview overview_of(const PoolSnapshot& snapshot, std::span<const Refusal> refusals);

class Overview {
 public:
  /// Of so many pools. Errors: kIo.
  static base::Result<std::shared_ptr<Overview>> create(std::size_t pools);
  ~Overview();
  Overview(const Overview&) = delete;
  Overview& operator=(const Overview&) = delete;

  /// Of the pool INDEX. In the process that has made it; in its children it does nothing.
  void publish(std::size_t index, const PoolSnapshot& snapshot, std::span<const Refusal> refusals);
  /// Of the pools that were told of.
  std::vector<PoolOverview> read() const;

 private:
  struct Memory;
  Overview(std::size_t pools, Memory* written, const Memory* read)
      : pools_(pools), maker_(own_pid()), written_(written), read_(read) {}
  static int own_pid();

  std::size_t pools_;
  int maker_;
  Memory* written_;  // is not there in children
  const Memory* read_;
};

}  // namespace quarry::scoreboard
