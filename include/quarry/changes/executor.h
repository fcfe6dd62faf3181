// Execution of a job in a child of the execution daemon: extracts the files from the tarball, runs
// the gate, and lands the files in the repository (landing.h). A child has one repository, which
// it keeps open together with cached data about the tip.
//
//   the change set has landed           kLanded, even if by an earlier execution
//   refused, for example a conflict     kFailed; the conflicts are in the log
//   the branch has forked               kDeferred: somebody may merge it meanwhile
//   the repository is locked            kDeferred
//   a disk is full                      kNoRoom
//   exit code of the gate: 0            continues
//   exit code 99, 100, 111              kSkipped, kFailed, kDeferred
//   the gate cannot be run              kDeferred
//   SIGTERM, SIGHUP                     kTerminated, kAbandoned; or kLanded if already stored
//
// Rollbacks run without a gate: a harmful change has to be removed even if the gate would reject
// the tree without it.
#pragma once

#include <filesystem>
#include <functional>
#include <memory>

#include "quarry/changes/daemons.h"
#include "quarry/changes/gate.h"
#include "quarry/changes/landing.h"
#include "quarry/changes/tarball.h"
#include "quarry/repository/repository.h"

namespace quarry::changes {

struct ExecutorOptions {
  std::filesystem::path repository;
  std::filesystem::path temporary = "/tmp";  // folder for the contents of tarballs
  TarballLimits tarball;
  GateOptions gate;  // a gate is run if it has a command
  LandingOptions landing;
  repository::OpenOptions open;
};

/// The executor opens the repository for the first job, and again when the file has been replaced.
std::unique_ptr<Executor> make_executor(ExecutorOptions options);

}  // namespace quarry::changes
