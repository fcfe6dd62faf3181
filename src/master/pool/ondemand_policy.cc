// pm = ondemand: starts a child when a connection waits and no child is idle; ends a child that has
// been idle for process_idle_timeout.
#include <algorithm>

#include "pool_policy.h"

namespace quarry::master {
namespace {

// A child of a full pool that has been idle for less may be between two connections, or starting.
constexpr std::chrono::milliseconds kAtRest{2000};

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

  // A connection that it may have left wakes the pool by the socket.
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

std::unique_ptr<PoolPolicy> make_ondemand_policy(const ProcessLimits& limits) {
  return std::make_unique<OndemandPolicy>(limits);
}

}  // namespace quarry::master
