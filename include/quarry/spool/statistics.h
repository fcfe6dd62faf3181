// What a queue has done, and how full it is.
#pragma once

#include <cstdint>

namespace quarry::spool {

/// Counts are of messages since the queue was started. Read one after the other while the queue
/// goes on: each is right, together they may be a moment apart.
struct Statistics {
  std::uint64_t size = 0;              // in memory, with what consumers have just now
  std::uint64_t on_disk = 0;           // not delivered yet, with what consumers have just now
  std::uint64_t disk_bytes = 0;        // of all segments
  std::uint64_t max_size = 0;          // the most that `size` has been
  std::uint64_t enqueued = 0;          // taken
  std::uint64_t delivered = 0;         // taken by the consumer for good
  std::uint64_t retried = 0;           // given back by the consumer, each time
  std::uint64_t discarded = 0;         // refused for the discard mark
  std::uint64_t discarded_queued = 0;  // taken, and discarded for it before they were delivered
  std::uint64_t left_out = 0;          // for queue.samplinginterval; not among those taken
  std::uint64_t full = 0;              // refused since the queue was full for too long
  std::uint64_t lost = 0;              // left in memory when the queue ended
  std::uint64_t high_watermark_hits = 0;
  std::uint64_t da_runs = 0;      // how often disk-assisted mode began
  bool is_disk_assisted = false;  // it is in that mode now
  std::uint64_t workers = 0;      // threads that deliver
};

}  // namespace quarry::spool
