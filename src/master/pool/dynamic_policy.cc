// pm = dynamic: between min_spare_servers and max_spare_servers idle children, as PHP-FPM does it.
//
// Every second: if too many are idle, the longest idle one ends; if too few, some are started: one in
// the first such second, and twice as many in each consecutive second, up to max_spawn_rate.
#include <algorithm>

#include "pool_policy.h"

namespace quarry::master {
namespace {

constexpr std::size_t kBusyRate = 8;

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

}  // namespace

std::unique_ptr<PoolPolicy> make_dynamic_policy(const ProcessLimits& limits) {
  return std::make_unique<DynamicPolicy>(limits);
}

}  // namespace quarry::master
