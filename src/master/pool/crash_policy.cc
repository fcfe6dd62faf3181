#include "crash_policy.h"

#include <csignal>

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

bool EmergencyRestart::after_crash(Clock::time_point now) {
  if (threshold_ == 0 || interval_.count() == 0) return false;
  crashes_.push_back(now);
  while (crashes_.front() < now - interval_) crashes_.pop_front();
  if (crashes_.size() < threshold_) return false;
  crashes_.clear();
  return true;
}

std::size_t EmergencyRestart::crashes(Clock::time_point now) const {
  return static_cast<std::size_t>(
      std::ranges::count_if(crashes_, [&](Clock::time_point at) { return at >= now - interval_; }));
}

bool EmergencyRestart::is_crash(int signal) {
  return signal == SIGSEGV || signal == SIGBUS;
}

}  // namespace quarry::master
