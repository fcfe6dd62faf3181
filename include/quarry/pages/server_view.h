// Data on the operator's live page in addition to the pool's own scoreboard: the whole server, and
// the queues of change sets.
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
  std::uint64_t dead = 0;              // number of undeliverable messages on disk
  std::optional<std::int64_t> oldest;  // milliseconds since the oldest waiting message arrived
  std::string last_error;              // our own text, never a reply of the other server
  std::optional<std::int64_t> last_error_age;  // in milliseconds
};

struct CourierView {
  bool is_running = false;
  std::vector<DestinationView> destinations;
  std::string problem;  // reason why the figures are missing, or ""
};

/// Number of change sets in each state, in the order of the states.
struct QueuesView {
  std::vector<std::pair<std::string, std::uint64_t>> states = {};
  std::uint64_t queues = 0;  // number of queues read
  bool is_cut = false;       // whether some queues were not read
  std::string problem = {};  // reason why the figures are missing, or ""
};

struct PoolQueues {
  std::string pool;
  QueuesView view;
};

/// Functions that return the figures of the live page. If a function is empty, its figures are not
/// available. Each function is called once for each document of the page. A call can take some
/// milliseconds.
struct ServerSources {
  std::function<QueuesView()> queues = {};                   // of this pool
  std::function<std::vector<PoolQueues>()> all_queues = {};  // of all pools with change sets
  std::function<CourierView()> courier = {};
  std::function<std::vector<scoreboard::PoolOverview>()> pools = {};
  scoreboard::RefusalTallies refusals = {};  // requests refused by processes other than workers
};

}  // namespace quarry::pages
