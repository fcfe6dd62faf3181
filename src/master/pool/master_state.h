// State that all parts of the master read, and only the loop changes.
#pragma once

#include <chrono>
#include <cstdint>

namespace quarry::master {

struct MasterState {
  std::uint64_t generation = 1;  // 1: first start
  std::chrono::milliseconds process_control_timeout{0};
  bool is_ready = false;   // all services were started
  bool is_running = true;  // not stopping
};

}  // namespace quarry::master
