// What a master tells of itself over its control socket, read into numbers.
//
// The document is not believed: whatever is missing or of another kind is 0 or "", and texts may
// hold anything.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "quarry/base/result.h"

namespace quarry::app {

struct ChildStatus {
  std::uint64_t pid = 0;
  std::uint64_t generation = 0;
  std::string state{};
  std::uint64_t requests = 0;
  std::uint64_t duration = 0;  // of the present request, or the last: microseconds
  std::string method{};
  std::string uri{};
  std::string user{};
  std::string repository{};
  double cpu = 0;            // percent, of the last request
  std::uint64_t memory = 0;  // bytes, after the last request

  bool is_idle() const { return state == "Idle"; }
};

/// Figures that only grow, from the pool's start time on.
struct Totals {
  std::uint64_t requests = 0;
  std::uint64_t refusals = 0;
  std::uint64_t clones = 0;
  std::uint64_t pulls = 0;
  std::uint64_t pushes = 0;
  std::uint64_t syncs = 0;
  std::uint64_t bytes_in = 0;
  std::uint64_t bytes_out = 0;
};

struct PoolStatus {
  std::string name{};
  std::string manager{};
  std::int64_t started = 0;  // seconds since 1970: since when it counts
  std::uint64_t generation = 0;
  std::uint64_t active = 0;
  std::uint64_t idle = 0;
  std::uint64_t of_generation = 0;  // children of this generation, idle or not
  std::uint64_t max_children = 0;
  std::uint64_t queue = 0;
  std::uint64_t max_active = 0;
  std::uint64_t max_children_reached = 0;
  std::uint64_t held_back = 0;  // children that process.max keeps from being started
  std::uint64_t slow = 0;
  std::uint64_t elders = 0;
  std::uint64_t unreadable = 0;
  std::int64_t next_start = 0;  // seconds since 1970, of a crash loop; 0: there is none
  std::string backoff_reason{};
  Totals totals{};
  std::vector<ChildStatus> children{};  // where they were asked for
};

/// A service that runs programs when its pool's workers ask: the backoffice.
struct JobStatus {
  std::string service{};
  std::uint64_t running = 0;
  std::uint64_t waiting = 0;  // for a place
  std::uint64_t paused = 0;   // sleep until their time has come
  std::uint64_t started = 0;
  std::uint64_t failed = 0;
  std::uint64_t delayed = 0;    // had to wait for a place
  std::uint64_t held_back = 0;  // of those, by backoffice.max

  /// The pool that asks.
  std::string pool() const { return service.substr(service.find(' ') + 1); }
};

/// Who has a pool's web pages made.
struct PagesStatus {
  std::string service{};
  std::string program{};      // with its version
  std::uint64_t running = 0;  // pages that are being made
  std::uint64_t waiting = 0;  // requests that wait for that
  std::uint64_t made = 0;
  std::uint64_t from_cache = 0;
  std::uint64_t shared = 0;  // requests for what was being made for another
  std::uint64_t refused = 0;
  std::uint64_t failed = 0;
  std::uint64_t cache_size = 0;  // bytes

  /// Whose pages they are.
  std::string pool() const { return service.substr(service.find(' ') + 1); }
};

struct ServerStatus {
  std::string version{};
  std::uint64_t pid = 0;
  std::string config{};
  std::string state{};
  std::uint64_t generation = 0;
  std::int64_t started = 0;           // seconds since 1970
  std::int64_t generation_began = 0;  // the same
  std::uint64_t crashes = 0;          // that emergency_restart_threshold counts now
  std::uint64_t emergency_restart_threshold = 0;
  std::uint64_t elders = 0;
  std::vector<PoolStatus> pools{};
  std::vector<JobStatus> jobs{};
  std::vector<PagesStatus> pages{};
};

/// DOCUMENT as the master wrote it. Errors: kDenied (it says why it does not answer), kInvalid.
base::Result<ServerStatus> read_status(const std::string& document);

/// The same figures, a second.
struct Rates {
  double requests = 0;
  double clones = 0;
  double pulls = 0;
  double pushes = 0;
  double syncs = 0;
  double bytes_in = 0;
  double bytes_out = 0;
};

/// Between two looks at a pool, SECONDS apart. One that was started between them counts anew; one
/// that was reloaded goes on.
Rates rates_between(const PoolStatus& before, const PoolStatus& after, double seconds);

}  // namespace quarry::app
