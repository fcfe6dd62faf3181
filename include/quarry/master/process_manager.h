// The number of children of a pool: the directives pm, pm.max_children and others.
#pragma once

#include <array>
#include <chrono>
#include <cstddef>
#include <string_view>
#include <utility>

namespace quarry::master {

enum class ProcessManager {
  kStatic,    // always max_children
  kDynamic,   // as many as needed, plus some idle ones
  kOndemand,  // started when connections arrive
};
/// Names of the process managers in the configuration and on the status page.
inline constexpr std::array<std::pair<std::string_view, ProcessManager>, 3> kProcessManagers{
    {{"static", ProcessManager::kStatic},
     {"dynamic", ProcessManager::kDynamic},
     {"ondemand", ProcessManager::kOndemand}}};
inline std::string_view name_of(ProcessManager manager) {
  return kProcessManagers[static_cast<std::size_t>(manager)].first;
}

struct ProcessLimits {
  ProcessManager manager = ProcessManager::kStatic;
  std::size_t max_children = 1;
  // Used by kDynamic:
  std::size_t start_servers = 0;
  std::size_t min_spare_servers = 0;
  std::size_t max_spare_servers = 0;
  std::size_t max_spawn_rate = 32;  // maximum number of children started per second
  // Used by kOndemand:
  std::chrono::milliseconds process_idle_timeout{10'000};
};
/// Returns the number of children at the start of a pool.
std::size_t first_children(const ProcessLimits& limits);

}  // namespace quarry::master
