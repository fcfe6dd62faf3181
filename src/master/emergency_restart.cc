#include "emergency_restart.h"

#include <csignal>

namespace quarry::master {

bool EmergencyRestart::after_crash(Clock::time_point now) {
  if (threshold_ == 0 || interval_.count() == 0) return false;
  crashes_.push_back(now);
  while (crashes_.front() < now - interval_) crashes_.pop_front();
  if (crashes_.size() < threshold_) return false;
  crashes_.clear();
  return true;
}

bool EmergencyRestart::is_crash(int signal) {
  return signal == SIGSEGV || signal == SIGBUS;
}

}  // namespace quarry::master
