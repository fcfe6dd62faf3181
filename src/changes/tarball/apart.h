// Reading a tarball in another process: what both sides do, whoever makes that process.
#pragma once

#include <filesystem>
#include <functional>
#include <memory>

#include "quarry/base/result.h"
#include "quarry/changes/tarball.h"

namespace quarry::changes {

/// The process that reads a tarball. When it goes before its end, it is killed.
class Reader {
 public:
  virtual ~Reader() = default;
  /// Waits for its end. Its status, as waitpid() has it. Errors: nobody knows.
  virtual base::Result<int> end() = 0;
};

/// Makes one that lives as read_as_child() says.
using StartReader = std::function<base::Result<std::unique_ptr<Reader>>(int contents, int pipe)>;

/// The whole life of a reader: it reads TARBALL, writes what is in the files to CONTENTS and tells
/// the rest through PIPE.
[[noreturn]] void read_as_child(int tarball, const TarballLimits& limits, int contents, int pipe);

/// What the reader that START makes tells, checked. Errors: as read_tarball_apart().
base::Result<ChangeSetContent> read_by(const StartReader& start, const TarballLimits& limits,
                                       const std::filesystem::path& folder);

}  // namespace quarry::changes
