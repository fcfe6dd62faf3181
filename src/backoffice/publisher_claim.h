// The right to hand a repository's events over to the courier. Publishing does not need the lease
// (lease.h), and does not wait for the process that holds it. The claim ensures that two processes
// never publish the same events:
//
//   config   quarry-publisher   PID UNTIL HOLDERS: the process that publishes now (holders.h), and
//                               the end of its claim if that process is on another host
//
// The claim is a row and not a write transaction, so a courier that hangs does not block pushes.
// Claims, positions and leases are not synced to the disk, to hold the write lock only briefly: a
// page of fossil fails if another process holds the lock at its first write.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>

#include "quarry/backoffice/holders.h"
#include "quarry/backoffice/jobs.h"
#include "quarry/base/result.h"
#include "quarry/repository/repository.h"

namespace quarry::backoffice {

/// Takes the claim for process SELF, unless another process holds it. Returns whether SELF holds
/// the claim. The caller must not hold a Snapshot. Errors: kBusy, kNoSpace, kIo.
Result<bool> take_claim(repository::Repository& repository, std::int64_t self,
                        const ProcessTable& processes = real_processes());

/// Takes the claim and calls PUBLISH. If another process holds the claim, waits for that process,
/// at most until the deadline of CONTEXT. PUBLISH has to read the position of the events itself,
/// because the other process might have advanced the position. Errors: kBusy (the claim stayed
/// taken), and the errors of PUBLISH.
Result<std::size_t> publish_alone(JobContext& context,
                                  const std::function<Result<std::size_t>()>& publish);

}  // namespace quarry::backoffice
