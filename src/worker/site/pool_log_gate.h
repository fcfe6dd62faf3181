// The gate before a repository's write-ahead log that the workers of a pool share: holds on the
// pool's scoreboard. See log_gate.h for what it is, leases.h for what happens when its closer dies.
#pragma once

#include "quarry/repository/log_gate.h"
#include "quarry/scoreboard/leases.h"

namespace quarry::worker {

class PoolLogGate : public repository::LogGate {
 public:
  /// LONGEST_WAIT: of pass(), whatever the board says, to which others can write.
  explicit PoolLogGate(scoreboard::Leases leases,
                       std::chrono::milliseconds longest_wait = std::chrono::milliseconds(500))
      : leases_(leases), longest_wait_(longest_wait) {}

  bool close(std::uint64_t file, std::chrono::milliseconds how_long) override;
  void open(std::uint64_t file, std::chrono::milliseconds pause) override;
  void pass(std::uint64_t file) override;

 private:
  scoreboard::Leases leases_;
  std::chrono::milliseconds longest_wait_;
  scoreboard::Lease closed_;
};

}  // namespace quarry::worker
