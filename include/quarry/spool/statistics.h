// Counters and the fill level of a queue.
#pragma once

#include <cstdint>

namespace quarry::spool {

/// Counts messages since the queue was started. The values are read one after the other, so they
/// may be inconsistent by a moment.
struct Statistics {
  std::uint64_t size = 0;              // in memory, including those being delivered
  std::uint64_t on_disk = 0;           // not delivered yet, including those being delivered
  std::uint64_t disk_bytes = 0;        // of all segments
  std::uint64_t max_size = 0;          // maximum of `size`
  std::uint64_t enqueued = 0;          // accepted
  std::uint64_t delivered = 0;         // accepted by the consumer
  std::uint64_t retried = 0;           // returned by the consumer, each time
  std::uint64_t discarded = 0;         // rejected because of the discard mark
  std::uint64_t discarded_queued = 0;  // accepted, but discarded because of it before delivery
  std::uint64_t left_out = 0;          // skipped by queue.samplinginterval; not counted as enqueued
  std::uint64_t full = 0;              // rejected because the queue was full for too long
  std::uint64_t lost = 0;              // left in memory when the queue ended
  std::uint64_t high_watermark_hits = 0;
  std::uint64_t da_runs = 0;      // how often disk-assisted mode began
  bool is_disk_assisted = false;  // currently
  std::uint64_t workers = 0;      // threads that deliver
};

}  // namespace quarry::spool
