// What the operator's page shows that is not on the pool's own board: of the whole server, and of
// queues of change sets.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "quarry/scoreboard/overview.h"

namespace quarry::pages {

/// What waits for one destination of the courier.
struct DestinationView {
  std::string name;
  std::uint64_t waiting = 0;
  std::uint64_t delivered = 0;
  std::uint64_t dead = 0;              // given up, and kept
  std::optional<std::int64_t> oldest;  // of what waits: milliseconds of age
  std::string last_error;              // only what we say ourselves, not what others have answered
  std::optional<std::int64_t> last_error_age;  // milliseconds
};

struct CourierView {
  bool is_running = false;
  std::vector<DestinationView> destinations;
  std::string problem;  // why nothing can be told; "": it can
};

/// How many change sets are in which state, in the order of the states.
struct QueuesView {
  std::vector<std::pair<std::string, std::uint64_t>> states = {};
  std::uint64_t queues = 0;  // that were looked into
  bool is_cut = false;       // there are more
  std::string problem = {};  // why nothing can be told; "": it can
};

struct PoolQueues {
  std::string pool;
  QueuesView view;
};

/// Where it comes from; an empty function: there is no such thing here. Each is called for a document
/// of the page, and may take some milliseconds.
struct ServerSources {
  std::function<QueuesView()> queues = {};                   // of the pool
  std::function<std::vector<PoolQueues>()> all_queues = {};  // of the pools that have some
  std::function<CourierView()> courier = {};
  std::function<std::vector<scoreboard::PoolOverview>()> pools = {};
  scoreboard::RefusalTallies refusals = {};  // of those before the pool's workers
};

}  // namespace quarry::pages
