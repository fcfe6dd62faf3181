// What a child of the execution daemon does with a job: takes its files out of the tarball, has a
// gate decide, and lands them in the repository (landing.h). One child has one repository, which it
// keeps open, and with it what it knows of the tip.
//
//   landed, or landed before            kLanded
//   refused: it conflicts, …            kFailed, the conflicts in the log
//   the branch has forked               kPutOff: somebody may merge it meanwhile
//   nobody can write, or read, now      kPutOff
//   a disk is full                      kNoRoom
//   the gate: 0, 99, 100, 111           goes on, kSkipped, kFailed, kPutOff
//   the gate cannot be run              kPutOff
//   SIGTERM, SIGHUP                     kTerminated, kAbandoned; but what is stored is kLanded
//
// A rollback asks no gate: what did harm has to go, whatever the gate would say of what was before.
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
  std::filesystem::path temporary = "/tmp";  // a folder for what tarballs hold
  TarballLimits tarball;
  GateOptions gate;  // without a command there is none
  LandingOptions landing;
  repository::OpenOptions open;
};

/// Does not touch the repository before the first job; opens another file that has taken its place.
std::unique_ptr<Executor> make_executor(ExecutorOptions options);

}  // namespace quarry::changes
