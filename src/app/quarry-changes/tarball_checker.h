// What the prequeue daemon asks of each tarball: what it is, and whether he who sent it may do that.
#pragma once

#include <filesystem>

#include "quarry/changes/daemons.h"
#include "quarry/changes/rights.h"
#include "quarry/changes/tarball.h"

namespace quarry::app {

class TarballChecker : public changes::Checker {
 public:
  /// FOLDER: for what is in a tarball, while it is looked at.
  TarballChecker(changes::TarballLimits limits, changes::Rights rights,
                 std::filesystem::path folder);

  base::Result<changes::Meta> check(const changes::ChangeSetName& name,
                                    const std::filesystem::path& tarball,
                                    const changes::Submission& submission) override;

 private:
  changes::TarballLimits limits_;
  changes::Rights rights_;
  std::filesystem::path folder_;
  changes::TarballReaders readers_;
};

}  // namespace quarry::app
