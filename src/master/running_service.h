// A service that runs: its children, and what decides when they are started.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "job/jobs.h"
#include "pool/children.h"
#include "pool/scaling.h"

namespace quarry::master {

struct RunningService {
  /// BASE, MASTER_STATE, BOUND and PLACES must outlive it.
  RunningService(Service its_service, const Children::Dependencies& dependencies,
                 const ProcessMax& bound, JobPlaces& places);

  const Service& service() const { return children.service(); }

  Children children;
  std::unique_ptr<Starter> starter;
  Jobs* jobs = nullptr;  // the starter of a service that runs on request
};

using RunningServices = std::vector<std::unique_ptr<RunningService>>;

/// In a new child of ONE of SERVICES: takes the others' boards out of its memory. Returns the one
/// that its service observes, if any, to be read only unless it writes to it.
std::optional<scoreboard::Board> forget_others(const RunningServices& services,
                                               const Children& one);

}  // namespace quarry::master
