// The counters of a queue, which any thread may read at any time. A queue and its helper share
// them.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>

#include "quarry/spool/statistics.h"

namespace quarry::spool {

struct Figures {
  using Count = std::atomic<std::uint64_t>;
  Count size, on_disk, disk_bytes, max_size, enqueued, delivered, retried, discarded,
      discarded_queued, left_out, full, lost, high_watermark_hits, da_runs, workers;
  std::atomic<bool> is_disk_assisted{false};

  /// Only under the queue's mutex.
  void set_size(std::uint64_t now) {
    size.store(now, std::memory_order_relaxed);
    if (now > max_size.load(std::memory_order_relaxed)) {
      max_size.store(now, std::memory_order_relaxed);
    }
  }

  Statistics statistics() const {
    return {.size = size,
            .on_disk = on_disk,
            .disk_bytes = disk_bytes,
            .max_size = max_size,
            .enqueued = enqueued,
            .delivered = delivered,
            .retried = retried,
            .discarded = discarded,
            .discarded_queued = discarded_queued,
            .left_out = left_out,
            .full = full,
            .lost = lost,
            .high_watermark_hits = high_watermark_hits,
            .da_runs = da_runs,
            .is_disk_assisted = is_disk_assisted,
            .workers = workers};
  }
};

}  // namespace quarry::spool
