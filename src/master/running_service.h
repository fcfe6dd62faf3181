// A running service: its children, and the Starter that decides when they are started.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "job/jobs.h"
#include "pool/children.h"
#include "pool/scaling.h"

namespace quarry::master {

struct RunningService {
  /// Creates a service. BOUND, PLACES and the members of DEPENDENCIES must outlive this object.
  RunningService(Service its_service, const Children::Dependencies& dependencies,
                 const ProcessMax& bound, JobPlaces& places);

  const Service& service() const { return children.service(); }

  Children children;
  std::unique_ptr<Starter> starter;
  Jobs* jobs = nullptr;  // the starter, if the service runs on request
};

using RunningServices = std::vector<std::unique_ptr<RunningService>>;

/// Called in a new child. ONE contains this child, and is the `children` of one of SERVICES. Unmaps
/// the boards of all other services. Returns the board that the service observes, if any. The
/// observed board is mapped read-only, unless the service writes to it.
std::optional<scoreboard::Board> forget_others(const RunningServices& services,
                                               const Children& one);

}  // namespace quarry::master
