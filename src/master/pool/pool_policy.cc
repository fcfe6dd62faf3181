#include "pool_policy.h"

namespace quarry::master {

std::string_view name_of(ProcessManager manager) {
  switch (manager) {
    case ProcessManager::kStatic:
      return "static";
    case ProcessManager::kDynamic:
      return "dynamic";
    case ProcessManager::kOndemand:
      return "ondemand";
  }
  return "unknown";
}

std::size_t first_children(const ProcessLimits& limits) {
  return make_policy(limits)->initial();
}

std::unique_ptr<PoolPolicy> make_policy(const ProcessLimits& limits) {
  switch (limits.manager) {
    case ProcessManager::kDynamic:
      return make_dynamic_policy(limits);
    case ProcessManager::kOndemand:
      return make_ondemand_policy(limits);
    case ProcessManager::kStatic:
      break;
  }
  return make_static_policy(limits);
}

}  // namespace quarry::master
