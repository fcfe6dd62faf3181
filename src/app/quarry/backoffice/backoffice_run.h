// One run of a repository's background work, when its turn has come.
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
  /// MASTER is closed where no server has started this. Both must outlive it.
  BackofficeRun(const BackofficeArguments& arguments, const control::Channel& master)
      : arguments_(arguments), master_(master) {}

  /// Does what is to be done in FILE, now or when its time has come; nothing where others see to it,
  /// or where somebody has asked this process to end. Error: it cannot be opened or written, or a
  /// job has failed, the first of which is the error.
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
