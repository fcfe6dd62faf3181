// Executes a job in a child of the execution daemon. The executor extracts the files from the
// tarball, runs the gate, and lands the files in the repository (landing.h). A child works on one
// repository. It keeps the repository open, and caches data about the tip.
//
//   the change set has landed           kLanded, even if by an earlier execution
//   refused, for example a conflict     kFailed, with the conflicts in the log
//   the submitter has lost a right      kFailed
//   the branch has forked               kDeferred, because the fork might be merged later
//   the repository is locked            kDeferred
//   a disk is full                      kNoRoom
//   other hosts do not confirm it       kNoRoom
//   exit code of the gate: 0            continues
//   exit code 99, 100, 111              kSkipped, kFailed, kDeferred
//   the gate cannot be run              kNoRoom, or kDeferred if the tree cannot be read
//   SIGTERM, SIGHUP, SIGUSR1            kTerminated, kAbandoned, kInterrupted; or kLanded if already
//                                       stored
//
// Rollbacks run without a gate. A harmful change has to be removed even if the gate rejects the
// tree without the change.
#pragma once

#include <filesystem>
#include <memory>

#include "quarry/changes/daemons.h"
#include "quarry/changes/gate.h"
#include "quarry/changes/landing.h"
#include "quarry/changes/rights.h"
#include "quarry/changes/tarball.h"
#include "quarry/repository/repository.h"

namespace quarry::changes {

struct ExecutorOptions {
  std::filesystem::path repository;
  std::filesystem::path temporary = "/tmp";  // folder for the contents of tarballs
  TarballLimits tarball;
  Rights rights;
  GateOptions gate;  // a gate is run if `gate.command` is not empty
  LandingOptions landing;
  repository::OpenOptions open;
};

/// Creates an executor. The executor opens the repository when it gets its first job, and opens the
/// repository again if the file has been replaced.
std::unique_ptr<Executor> make_executor(ExecutorOptions options);

}  // namespace quarry::changes
