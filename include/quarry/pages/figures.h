// What the process that has pages made counts, for the status of the server: in memory that it shares
// with the master, which only reads.
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
  std::atomic<std::uint64_t> waiting = 0;     // requests that wait for their turn
  std::atomic<std::uint64_t> made = 0;        // pages that were begun to be made
  std::atomic<std::uint64_t> from_cache = 0;  // requests answered without that
  std::atomic<std::uint64_t> shared = 0;      // that waited for a page that was made for another
  std::atomic<std::uint64_t> refused = 0;     // for too many (503)
  std::atomic<std::uint64_t> failed = 0;      // pages that could not be made
  std::atomic<std::uint64_t> cache_size = 0;  // bytes

  void set_version(std::string_view version);
  /// Of the program; "" until it is known.
  std::string version() const;

  /// In memory that children made later share. Errors: kIo.
  static base::Result<std::shared_ptr<Figures>> make_shared();

 private:
  std::array<std::atomic<char>, 24> version_{};
};
static_assert(std::atomic<std::uint64_t>::is_always_lock_free);

}  // namespace quarry::pages
