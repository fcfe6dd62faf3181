#include "respawn_policy.h"

#include <algorithm>

namespace quarry::master {
namespace {

using std::chrono::milliseconds;

constexpr milliseconds kQuick{1000};
constexpr int kForgiven = 4;
constexpr milliseconds kFirstWait{50};
constexpr milliseconds kLongestWait{5000};

}  // namespace

milliseconds RespawnPolicy::after(const Death& death) {
  if (death.was_orderly) return milliseconds(0);
  if (death.lived >= kQuick) {
    quick_deaths_ = 0;
    return milliseconds(0);
  }
  if (death.was_killed) return quick_deaths_ > 0 ? kFirstWait : milliseconds(0);
  ++quick_deaths_;
  if (quick_deaths_ <= kForgiven) return milliseconds(0);
  const int doublings = std::min(quick_deaths_ - kForgiven - 1, 10);
  return std::min(kLongestWait, kFirstWait * (1 << doublings));
}

}  // namespace quarry::master
