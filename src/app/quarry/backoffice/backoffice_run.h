// A run of a repository's background work, once it may take the lease.
#pragma once

#include <filesystem>

#include "backoffice_commands.h"
#include "quarry/backoffice/lease.h"
#include "quarry/backoffice/run.h"
#include "quarry/base/result.h"
#include "quarry/control/channel.h"
#include "quarry/repository/repository.h"

namespace quarry::app {

class BackofficeRun {
 public:
  /// MASTER is closed if the process was not started by a server. Both must outlive the object.
  BackofficeRun(const BackofficeArguments& arguments, const control::Channel& master)
      : arguments_(arguments), master_(master) {}

  /// Runs the jobs for FILE, now or when its lease begins. Does nothing if other processes do the
  /// work or this process was interrupted. Error: the file cannot be opened or written, or the
  /// first job that failed.
  base::Result<void> run(const std::filesystem::path& file);

 private:
  base::Result<void> work(repository::Repository& repository);
  base::Result<backoffice::Turn> wait_for_turn(const std::filesystem::path& file);
  bool pause(std::chrono::seconds time) const;
  void trace(const std::string& message) const;
  void note(repository::Repository& repository, const backoffice::RunReport& report) const;

  const BackofficeArguments& arguments_;
  const control::Channel& master_;
  std::unique_ptr<repository::Repository> repository_;
};

}  // namespace quarry::app
