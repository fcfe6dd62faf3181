// Figures of a pool's pages for the status and the metrics, in shared memory:
//
//   PageCounters   continue after a reload: pages processes of all generations share the memory
//   PageGauges     the state of one generation's pages process
//
// Only pages processes can write to the memory. Readers do not trust the values.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "quarry/base/fd.h"
#include "quarry/base/result.h"
#include "quarry/scoreboard/shared_memory.h"

namespace quarry::pages {

using Counter = std::atomic<std::uint64_t>;
static_assert(Counter::is_always_lock_free);

struct PageCounters {
  /// The layout of this struct. Increased with each change.
  static constexpr std::uint64_t kLayout = 1;
  Counter requests = 0;    // requests answered
  Counter made = 0;        // pages started
  Counter from_cache = 0;  // requests answered from the cache
  Counter shared = 0;      // requests that waited for another request's page
  Counter refused = 0;     // requests refused because the queue was full
  Counter failed = 0;      // pages that failed
  Counter failed_logins = 0;
};

struct PageGauges {
  Counter running = 0;     // pages that are being made
  Counter waiting = 0;     // requests that wait for a fossil process
  Counter cache_size = 0;  // size of the cache in bytes
  std::array<std::atomic<char>, 24> version{};
};

class Figures {
 public:
  /// Returns figures that start at zero, or that continue the counters in EARLIER, the
  /// counters_fd() of the previous generation. Errors: kIo; kInvalid (EARLIER has the wrong size,
  /// or can be resized).
  static Result<std::shared_ptr<Figures>> make(base::Fd earlier = {});

  const PageCounters& counters() const {
    return *static_cast<const PageCounters*>(counters_.get());
  }
  const PageGauges& gauges() const { return *static_cast<const PageGauges*>(gauges_.get()); }
  /// Returns the version of the `fossil` program, or "" while it is unknown.
  std::string version() const;

  /// The descriptors that writable() needs.
  int counters_fd() const { return counters_fd_.get(); }
  int gauges_fd() const { return gauges_fd_.get(); }

  /// The figures in a process that writes them.
  class Writable {
   public:
    PageCounters& counters() const { return *static_cast<PageCounters*>(counters_.get()); }
    PageGauges& gauges() const { return *static_cast<PageGauges*>(gauges_.get()); }
    void set_version(std::string_view version) const;

   private:
    friend class Figures;
    scoreboard::Mapping counters_;
    scoreboard::Mapping gauges_;
  };
  /// Errors: kIo.
  Result<Writable> writable() const;

 private:
  base::Fd counters_fd_;
  base::Fd gauges_fd_;
  scoreboard::Mapping counters_;
  scoreboard::Mapping gauges_;
};

}  // namespace quarry::pages
