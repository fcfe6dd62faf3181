#include "pool_policy.h"

#include <algorithm>

namespace quarry::master {
namespace {

/// pm = static: always max_children.
class StaticPolicy final : public PoolPolicy {
 public:
  explicit StaticPolicy(std::size_t children) : children_(children) {}

  std::size_t initial() const override { return children_; }
  Decision every_second(const PoolFigures& figures) override { return fill(figures); }
  Decision after_death(const PoolFigures& figures) override { return fill(figures); }

 private:
  Decision fill(const PoolFigures& figures) const {
    return {.start = children_ - std::min(children_, figures.children)};
  }

  std::size_t children_;
};

constexpr std::size_t kBusyRate = 8;

/// pm = dynamic: keeps between min_spare_servers and max_spare_servers idle children, like PHP-FPM.
///
/// The policy is applied every second. If too many children are idle, the child with the longest
/// idle time ends. If too few are idle, new children are started: one in the first second, and
/// twice as many in each consecutive second, up to max_spawn_rate.
class DynamicPolicy final : public PoolPolicy {
 public:
  explicit DynamicPolicy(const ProcessLimits& limits) : limits_(limits) {}

  std::size_t initial() const override { return limits_.start_servers; }

  Decision every_second(const PoolFigures& figures) override {
    if (figures.idle() >= limits_.min_spare_servers) {
      rate_ = 1;
      return {.stop = figures.idle() > limits_.max_spare_servers ? std::size_t{1} : 0};
    }
    const std::size_t room =
        limits_.max_children - std::min(limits_.max_children, figures.children);
    if (room == 0) {
      rate_ = 1;
      return {.advice = Advice::kMaxChildrenReached};
    }
    const std::size_t missing = limits_.min_spare_servers - figures.idle();
    Decision decision{.start = std::min({rate_, missing, room})};
    if (rate_ >= kBusyRate) decision.advice = Advice::kBusy;
    rate_ = std::min(rate_ * 2, limits_.max_spawn_rate);
    return decision;
  }

  Decision after_death(const PoolFigures& figures) override {
    return {.start = figures.children < limits_.max_children ? std::size_t{1} : 0};
  }

 private:
  ProcessLimits limits_;
  std::size_t rate_ = 1;
};

// The advice to raise max_children is withdrawn after a child has been idle for this time. A child
// that has been idle for a shorter time might be starting, or might be between two connections.
constexpr std::chrono::milliseconds kAtRest{2000};

/// pm = ondemand: starts a child when a connection waits and all children are busy. A child that
/// has been idle for process_idle_timeout ends.
class OndemandPolicy final : public PoolPolicy {
 public:
  explicit OndemandPolicy(const ProcessLimits& limits) : limits_(limits) {}

  std::size_t initial() const override { return 0; }

  Decision every_second(const PoolFigures& figures) override {
    const auto is_overdue = [&](std::chrono::milliseconds idle) {
      return idle >= limits_.process_idle_timeout;
    };
    if (figures.children < limits_.max_children ||
        (figures.idle() > 0 && figures.idle_for.front() >= kAtRest)) {
      advice_ = Advice::kNone;
    }
    return {.stop = static_cast<std::size_t>(std::ranges::count_if(figures.idle_for, is_overdue)),
            .advice = advice_};
  }

  // Does not start a replacement, because the listening socket wakes the pool if a connection still
  // waits.
  Decision after_death(const PoolFigures&) override { return {.advice = advice_}; }

  bool is_woken_by_connections() const override { return true; }

  Decision on_connection(const PoolFigures& figures) override {
    if (figures.idle() > 0) return {.advice = advice_};  // the idle child will call accept()
    advice_ = figures.children < limits_.max_children ? Advice::kNone : Advice::kMaxChildrenReached;
    return {.start = advice_ == Advice::kNone ? std::size_t{1} : 0, .advice = advice_};
  }

 private:
  ProcessLimits limits_;
  Advice advice_ = Advice::kNone;
};

}  // namespace

std::size_t first_children(const ProcessLimits& limits) {
  return make_policy(limits)->initial();
}

std::unique_ptr<PoolPolicy> make_policy(const ProcessLimits& limits) {
  switch (limits.manager) {
    case ProcessManager::kDynamic:
      return std::make_unique<DynamicPolicy>(limits);
    case ProcessManager::kOndemand:
      return std::make_unique<OndemandPolicy>(limits);
    case ProcessManager::kStatic:
      break;
  }
  return std::make_unique<StaticPolicy>(limits.max_children);
}

}  // namespace quarry::master
