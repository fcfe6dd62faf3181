// Counters of the pages process for the server's status. The counters are in shared memory, which
// the master only reads.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "quarry/base/result.h"

namespace quarry::pages {

struct Figures {
  std::atomic<std::uint64_t> running = 0;     // pages that are being made
  std::atomic<std::uint64_t> waiting = 0;     // requests that wait for a fossil process
  std::atomic<std::uint64_t> made = 0;        // pages started
  std::atomic<std::uint64_t> from_cache = 0;  // requests answered from the cache
  std::atomic<std::uint64_t> shared = 0;      // requests that waited for another request's page
  std::atomic<std::uint64_t> refused = 0;     // requests refused because the queue was full
  std::atomic<std::uint64_t> failed = 0;      // pages that failed
  std::atomic<std::uint64_t> failed_logins = 0;
  std::atomic<std::uint64_t> cache_size = 0;  // size of the cache in bytes

  void set_version(std::string_view version);
  /// Returns the version of the `fossil` program, or "" while it is unknown.
  std::string version() const;

  /// Creates counters in memory that is shared with all children forked later. Errors: kIo.
  static base::Result<std::shared_ptr<Figures>> make_shared();

 private:
  std::array<std::atomic<char>, 24> version_{};
};
static_assert(std::atomic<std::uint64_t>::is_always_lock_free);

}  // namespace quarry::pages
