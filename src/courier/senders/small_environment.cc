#include "small_environment.h"

#include <fmt/core.h>

#include <cstdlib>

#include "quarry/base/spawn.h"

namespace quarry::courier {

std::vector<std::string> small_environment() {
  std::vector<std::string> environment = {fmt::format("PATH={}", base::search_path())};
  for (const char* name : {"HOME", "USER", "LANG", "TZ", "TMPDIR"}) {
    if (const char* value = std::getenv(name)) {
      environment.push_back(fmt::format("{}={}", name, value));
    }
  }
  return environment;
}

}  // namespace quarry::courier
