#include "pool_checkpoint_barrier.h"

#include <thread>

namespace quarry::worker {
namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;

constexpr std::chrono::microseconds kPollInterval{500};

std::uint64_t pause_of(std::uint64_t file) {
  return ~file;
}

}  // namespace

bool PoolCheckpointBarrier::raise(std::uint64_t file, milliseconds timeout) {
  if (leases_.is_held(pause_of(file))) return false;
  raised_ = leases_.take(file, timeout);
  return static_cast<bool>(raised_);
}

void PoolCheckpointBarrier::lower(std::uint64_t file, milliseconds pause) {
  leases_.release(raised_);
  raised_ = {};
  // Take a lease for the pause. Nothing releases this lease, so the pause ends when the lease
  // expires.
  if (pause.count() > 0) leases_.take(pause_of(file), pause);
}

void PoolCheckpointBarrier::wait(std::uint64_t file) {
  if (!leases_.is_held(file)) return;
  const auto deadline = steady_clock::now() + longest_wait_;
  do {
    std::this_thread::sleep_for(kPollInterval);
  } while (leases_.is_held(file) && steady_clock::now() < deadline);
}

}  // namespace quarry::worker
