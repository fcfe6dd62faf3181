#include "emergency_restart.h"

#include <csignal>

#include <algorithm>

namespace quarry::master {

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
