// How many children a pool has: the words pm, pm.max_children and so on of the configuration.
#pragma once

#include <chrono>
#include <cstddef>
#include <string_view>

namespace quarry::master {

enum class ProcessManager {
  kStatic,    // always max_children
  kDynamic,   // as many as needed, with some idle ones to spare
  kOndemand,  // none without work: started when connections come
};
/// As the configuration and the status page call it.
std::string_view name_of(ProcessManager manager);

struct ProcessLimits {
  ProcessManager manager = ProcessManager::kStatic;
  std::size_t max_children = 1;
  // kDynamic:
  std::size_t start_servers = 0;
  std::size_t min_spare_servers = 0;
  std::size_t max_spare_servers = 0;
  std::size_t max_spawn_rate = 32;  // children started in a second at most
  // kOndemand:
  std::chrono::milliseconds process_idle_timeout{10'000};
};
/// How many a pool begins with.
std::size_t first_children(const ProcessLimits& limits);

}  // namespace quarry::master
