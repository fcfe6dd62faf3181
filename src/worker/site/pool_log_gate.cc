#include "pool_log_gate.h"

#include <algorithm>
#include <thread>

namespace quarry::worker {
namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;

constexpr std::chrono::microseconds kBetweenLooks{500};

std::uint64_t pause_of(std::uint64_t file) {
  return ~file;
}

}  // namespace

bool PoolLogGate::close(std::uint64_t file, milliseconds how_long) {
  if (leases_.is_held(pause_of(file))) return false;
  closed_ = leases_.take(file, how_long);
  return static_cast<bool>(closed_);
}

void PoolLogGate::open(std::uint64_t file, milliseconds pause) {
  leases_.release(closed_);
  closed_ = {};
  // It ends by itself.
  if (pause.count() > 0) leases_.take(pause_of(file), pause);
}

void PoolLogGate::pass(std::uint64_t file) {
  if (!leases_.is_held(file)) return;
  const auto deadline = steady_clock::now() + longest_wait_;
  do {
    std::this_thread::sleep_for(kBetweenLooks);
  } while (leases_.is_held(file) && steady_clock::now() < deadline);
}

}  // namespace quarry::worker
