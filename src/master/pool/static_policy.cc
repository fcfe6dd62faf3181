// pm = static: always max_children.
#include <algorithm>

#include "pool_policy.h"

namespace quarry::master {
namespace {

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

}  // namespace

std::unique_ptr<PoolPolicy> make_static_policy(const ProcessLimits& limits) {
  return std::make_unique<StaticPolicy>(limits.max_children);
}

}  // namespace quarry::master
