// What all parts of the master go by, and the loop alone changes.
#pragma once

#include <chrono>
#include <cstdint>

namespace quarry::master {

struct MasterState {
  std::uint64_t generation = 1;  // 1: nobody was served before
  std::chrono::milliseconds process_control_timeout{0};
  bool is_ready = false;   // all services were started
  bool is_running = true;  // it is not stopping
};

}  // namespace quarry::master
