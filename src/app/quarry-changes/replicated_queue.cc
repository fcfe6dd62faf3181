#include "replicated_queue.h"

#include "quarry/base/log.h"
#include "quarry/repository/replica_tables.h"
#include "quarry/sync/replication.h"

namespace quarry::app {

Result<bool> ReplicaFence::publish(repository::Repository& repository) {
  repository::ReplicaTables tables(repository);
  QUARRY_TRY_ASSIGN(const bool exist, tables.exist());
  if (!exist) return fail(ErrorCode::kBusy, "quarry-replica has not opened the repository yet");
  QUARRY_TRY_ASSIGN(const auto position, tables.position());
  QUARRY_TRY_ASSIGN(const auto entries, sync::take_unpublished(repository));
  return of_.replica.land(of_.pool, of_.name, position.created, position.sequence, entries);
}

bool QueueLease::take() {
  if (lease_ && lease_->is_held()) return true;
  lease_.reset();
  auto taken = of_.replica.lease(of_.pool, of_.name, "queue");
  if (!taken && !std::exchange(is_failure_logged_, true)) {
    base::log(base::LogLevel::kWarning, "the change sets of {} wait for the other hosts: {}",
              of_.name.empty() ? of_.pool : of_.name, taken.error().message);
  }
  if (!taken || !*taken) return false;
  is_failure_logged_ = false;
  lease_ = *std::move(*taken);
  return true;
}

}  // namespace quarry::app
