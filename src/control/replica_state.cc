#include "quarry/control/replica_state.h"

#include <fmt/core.h>
#include <sys/stat.h>

#include <ctime>
#include <fstream>

#include "quarry/base/escape.h"

namespace quarry::control {
namespace {

// After this time without a new file, quarry-replica has ended, or cannot work.
constexpr std::time_t kMaxAge = 10;

}  // namespace

std::string ReplicaState::text() const {
  return fmt::format("{} {:d} {}\n", lag.count(), is_away, base::printable(reason));
}

ReplicaState ReplicaState::read(const std::filesystem::path& path) {
  struct stat status {};
  std::ifstream file(path);
  if (!file || ::stat(path.c_str(), &status) != 0 ||
      status.st_mtim.tv_sec + kMaxAge < std::time(nullptr)) {
    return {.reason = "quarry-replica does not run"};
  }
  ReplicaState state;
  std::int64_t lag = 0;
  file >> lag >> state.is_away;
  file.ignore(1);
  if (!std::getline(file, state.reason))
    return {.reason = "the state of quarry-replica is damaged"};
  state.lag = std::chrono::milliseconds(lag);
  return state;
}

}  // namespace quarry::control
