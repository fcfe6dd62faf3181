// When a pool gets a child more or less, decided from numbers alone: one class for each value of
// pm, each in a file of its own. The master asks every second, when a child has died, and, where
// the pool wants to know (ondemand), when a connection waits.
#pragma once

#include <chrono>
#include <cstddef>
#include <memory>
#include <span>

#include "quarry/master/process_manager.h"

namespace quarry::master {

/// What the master sees of a pool's children.
struct PoolFigures {
  std::size_t children = 0;  // alive, those that were told to end included
  /// For how long each idle one that was not told to end has been so, the longest first.
  std::span<const std::chrono::milliseconds> idle_for;

  std::size_t idle() const { return idle_for.size(); }
};

/// What the operator should hear.
enum class Advice {
  kNone,
  kMaxChildrenReached,  // there is work for more children than there may be
  kBusy,                // children are started faster and faster
};

struct Decision {
  std::size_t start = 0;
  std::size_t stop = 0;  // so many of the idle ones, the longest idle first
  Advice advice = Advice::kNone;
};

class PoolPolicy {
 public:
  virtual ~PoolPolicy() = default;
  /// Children that the pool begins with.
  virtual std::size_t initial() const = 0;
  virtual Decision every_second(const PoolFigures& figures) = 0;
  /// A child has died that was not told to.
  virtual Decision after_death(const PoolFigures& figures) = 0;
  /// Whether the pool's listening socket is to be watched.
  virtual bool is_woken_by_connections() const { return false; }
  /// A connection waits.
  virtual Decision on_connection(const PoolFigures&) { return {}; }
};

std::unique_ptr<PoolPolicy> make_policy(const ProcessLimits& limits);

// One maker a policy, for make_policy().
std::unique_ptr<PoolPolicy> make_static_policy(const ProcessLimits& limits);
std::unique_ptr<PoolPolicy> make_dynamic_policy(const ProcessLimits& limits);
std::unique_ptr<PoolPolicy> make_ondemand_policy(const ProcessLimits& limits);

}  // namespace quarry::master
