// Reads tarballs in a separate process: the code of both sides, independent of how it is started.
#pragma once

#include <filesystem>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "quarry/base/result.h"
#include "quarry/changes/tarball.h"

namespace quarry::changes {

/// The process that reads tarballs. The destructor kills it.
class Reader {
 public:
  virtual ~Reader() = default;
  /// Waits for it and returns its status, as from waitpid(). Errors: the status is unknown.
  virtual base::Result<int> end() = 0;
};

/// Starts a reader, which has to call read_as_child() with the tarballs.
using StartReader =
    std::function<base::Result<std::unique_ptr<Reader>>(std::span<const int> contents, int pipe)>;

/// Main function of a reader: reads each of TARBALLS, writes the contents of its files to the
/// corresponding one of CONTENTS, and everything else to PIPE.
[[noreturn]] void read_as_child(std::span<const int> tarballs, const TarballLimits& limits,
                                std::span<const int> contents, int pipe);

/// Starts a reader for COUNT tarballs and checks what it returns. Errors: those of
/// read_tarball_apart(), for one tarball or for the reader.
base::Result<std::vector<base::Result<ChangeSetContent>>> read_by(
    const StartReader& start, std::size_t count, const TarballLimits& limits,
    const std::filesystem::path& folder);

}  // namespace quarry::changes
