// The prequeue daemon's check of a tarball: the tarball must be valid, its submitter must have the
// required permissions, and its base must exist (base_finder.h).
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
  /// Creates a checker for change sets of REPOSITORY. During a check, the contents of a tarball are
  /// extracted to FOLDER.
  TarballChecker(changes::TarballLimits limits, changes::Rights rights,
                 std::filesystem::path repository, std::filesystem::path folder,
                 std::shared_ptr<changes::TarballReaders> readers);

  /// Reads tarballs from the same submitter in groups.
  std::vector<Checked> check_all(std::span<const Case> cases) override;
  Result<std::string> diff(const changes::Job& job, const std::filesystem::path& tarball) override;

 private:
  Result<changes::Meta> check(const Case& given);
  Result<changes::Meta> judge(const Case& given, const changes::ChangeSetContent& content);
  void check_together(std::span<const Case* const> cases,
                      std::span<std::optional<Result<changes::Meta>>* const> metas);

  changes::TarballLimits limits_;
  changes::Rights rights_;
  std::filesystem::path repository_, folder_;
  std::shared_ptr<changes::TarballReaders> readers_;

  /// A tarball whose extracted contents are kept, because its change set will probably land soon.
  struct Kept {
    changes::ChangeSetName name;
    std::chrono::steady_clock::time_point since;
  };
  void keep(const changes::ChangeSetName& name, const changes::ChangeSetContent& content);
  std::vector<Kept> kept_;
};

}  // namespace quarry::app
