// The check of a tarball by the prequeue daemon: whether the tarball is valid and whether its
// submitter has the required permissions.
#pragma once

#include <chrono>
#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "quarry/changes/change_set.h"
#include "quarry/changes/daemons.h"
#include "quarry/changes/rights.h"
#include "quarry/changes/tarball.h"

namespace quarry::app {

class TarballChecker : public changes::Checker {
 public:
  /// FOLDER is the folder for the extracted contents of a tarball during the check.
  TarballChecker(changes::TarballLimits limits, changes::Rights rights,
                 std::filesystem::path folder, std::shared_ptr<changes::TarballReaders> readers);

  /// Tarballs of one submitter are read together.
  std::vector<base::Result<changes::Meta>> check_all(std::span<const Case> cases) override;

 private:
  base::Result<changes::Meta> check(const Case& given);
  base::Result<changes::Meta> judge(const Case& given, const changes::ChangeSetContent& content);
  void check_together(std::span<const Case* const> cases,
                      std::span<std::optional<base::Result<changes::Meta>>* const> metas);

  changes::TarballLimits limits_;
  changes::Rights rights_;
  std::filesystem::path folder_;
  std::shared_ptr<changes::TarballReaders> readers_;  // shared by all queues

  /// An extracted tarball whose change set may not have landed yet.
  struct Kept {
    changes::ChangeSetName name;
    std::chrono::steady_clock::time_point since;
  };
  void keep(const changes::ChangeSetName& name, const changes::ChangeSetContent& content);
  std::vector<Kept> kept_;
};

}  // namespace quarry::app
