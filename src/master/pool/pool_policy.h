// Decides when a pool starts or stops a child, based only on numbers. Each value of pm has a class.
// The master calls the policy every second, when a child has exited and, for ondemand pools, when a
// connection waits.
#pragma once

#include <chrono>
#include <cstddef>
#include <memory>
#include <span>

#include "quarry/master/process_manager.h"

namespace quarry::master {

/// Figures of a pool's children.
struct PoolFigures {
  std::size_t children = 0;  // includes children that were asked to exit
  /// The idle times of the idle children that were not asked to exit, longest first.
  std::span<const std::chrono::milliseconds> idle_for;

  std::size_t idle() const { return idle_for.size(); }
};

/// Warnings for the operator.
enum class Advice {
  kNone,
  kMaxChildrenReached,  // the pool needs more children than permitted
  kBusy,                // more children are started each second
};

struct Decision {
  std::size_t start = 0;
  std::size_t stop = 0;  // number of idle children to end, in order of idle_for
  Advice advice = Advice::kNone;
};

class PoolPolicy {
 public:
  virtual ~PoolPolicy() = default;
  virtual std::size_t initial() const = 0;
  virtual Decision every_second(const PoolFigures& figures) = 0;
  /// Called when a child has exited without being asked to.
  virtual Decision after_death(const PoolFigures& figures) = 0;
  /// Returns whether to watch the pool's listening socket.
  virtual bool is_woken_by_connections() const { return false; }
  /// Called when a connection waits.
  virtual Decision on_connection(const PoolFigures&) { return {}; }
};

std::unique_ptr<PoolPolicy> make_policy(const ProcessLimits& limits);

}  // namespace quarry::master
