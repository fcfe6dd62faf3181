// The newest of very many jobs, by the names of their files alone.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "quarry/changes/directories.h"

namespace quarry::changes {

/// Whether FILE looks like a job's name at a glance.
bool may_be_job(std::string_view file);

class Newest {
 public:
  /// Keeps MOST of those that were submitted before BEFORE.
  explicit Newest(std::size_t most, std::optional<ChangeSetName> before = std::nullopt)
      : most_(most), before_(before ? before->text() : std::string()) {}

  void offer(Stage stage, std::string_view file);
  /// The newest first.
  std::vector<JobLocation> take();

 private:
  struct Kept {
    Stage stage;
    std::string file;
  };

  std::size_t most_;
  std::string before_;      // as a file; "": no matter
  std::vector<Kept> kept_;  // a heap with the oldest in front
};

}  // namespace quarry::changes
