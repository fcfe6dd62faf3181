// The queue of a replicated repository: its change sets land in the order of the stream of the group, and
// one host of the group executes them at a time.
#pragma once

#include <optional>
#include <string>
#include <utility>

#include "quarry/changes/daemons.h"
#include "quarry/changes/landing.h"
#include "quarry/control/publication.h"

namespace quarry::app {

/// The repository NAME of POOL, for the requests of control/publication.h.
struct ReplicatedRepository {
  control::Publication replica;
  std::string pool;
  std::string name;
};

class ReplicaFence final : public changes::Fence {
 public:
  explicit ReplicaFence(ReplicatedRepository of) : of_(std::move(of)) {}
  Result<bool> publish(repository::Repository& repository) override;
  Result<void> catch_up() override { return of_.replica.catch_up(of_.pool, of_.name); }

 private:
  ReplicatedRepository of_;
};

class QueueLease final : public changes::ExecutionRight {
 public:
  explicit QueueLease(ReplicatedRepository of) : of_(std::move(of)) {}
  bool take() override;
  void give_back() override { lease_.reset(); }

 private:
  ReplicatedRepository of_;
  std::optional<control::Lease> lease_;
  bool is_failure_logged_ = false;
};

}  // namespace quarry::app
