// Selects the newest of many jobs by their file names alone.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "quarry/changes/directories.h"

namespace quarry::changes {

/// Whether FILE looks like the name of a job; a quick check.
bool may_be_job(std::string_view file);

class Newest {
 public:
  /// Keeps the LIMIT newest jobs among those submitted before BEFORE.
  explicit Newest(std::size_t limit, std::optional<ChangeSetName> before = std::nullopt)
      : limit_(limit), before_(before ? before->text() : std::string()) {}

  void offer(Stage stage, std::string_view file);
  /// Newest first.
  std::vector<JobLocation> take();

 private:
  struct Kept {
    Stage stage;
    std::string file;
  };

  std::size_t limit_;
  std::string before_;      // as a file name; "": any time
  std::vector<Kept> kept_;  // a heap with the oldest on top
};

}  // namespace quarry::changes
