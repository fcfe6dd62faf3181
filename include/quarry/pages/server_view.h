// What the operator's live page shows in addition to the pool's own scoreboard: the whole server,
// and the queues of change sets.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "quarry/scoreboard/overview.h"

namespace quarry::pages {

/// The queue of one of the courier's destinations.
struct DestinationView {
  std::string name;
  std::uint64_t waiting = 0;
  std::uint64_t delivered = 0;
  std::uint64_t dead = 0;              // undeliverable messages that are kept
  std::optional<std::int64_t> oldest;  // age of the oldest waiting message in milliseconds
  std::string last_error;              // only our own text, never a reply of the other server
  std::optional<std::int64_t> last_error_age;  // milliseconds
};

struct CourierView {
  bool is_running = false;
  std::vector<DestinationView> destinations;
  std::string problem;  // why there are no figures; "" if there are
};

/// Number of change sets in each state, in the order of the states.
struct QueuesView {
  std::vector<std::pair<std::string, std::uint64_t>> states = {};
  std::uint64_t queues = 0;  // number of queues read
  bool is_cut = false;       // there are more queues than were read
  std::string problem = {};  // why there are no figures; "" if there are
};

struct PoolQueues {
  std::string pool;
  QueuesView view;
};

/// Functions that return the figures; an empty function means that they are not available here.
/// Each is called once per document and may take some milliseconds.
struct ServerSources {
  std::function<QueuesView()> queues = {};                   // of this pool
  std::function<std::vector<PoolQueues>()> all_queues = {};  // of all pools with change sets
  std::function<CourierView()> courier = {};
  std::function<std::vector<scoreboard::PoolOverview>()> pools = {};
  scoreboard::RefusalTallies refusals = {};  // requests refused before they reached a worker
};

}  // namespace quarry::pages
