// Reading tarballs in another process: what both sides do, whoever makes that process.
#pragma once

#include <filesystem>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "quarry/base/result.h"
#include "quarry/changes/tarball.h"

namespace quarry::changes {

/// The process that reads tarballs. When it goes before its end, it is killed.
class Reader {
 public:
  virtual ~Reader() = default;
  /// Waits for its end. Its status, as waitpid() has it. Errors: nobody knows.
  virtual base::Result<int> end() = 0;
};

/// Makes one that lives as read_as_child() says, with the tarballs that whoever calls has in mind.
using StartReader =
    std::function<base::Result<std::unique_ptr<Reader>>(std::span<const int> contents, int pipe)>;

/// The whole life of a reader: it reads each of TARBALLS, writes what is in its files to that of
/// CONTENTS which has its place and tells the rest through PIPE.
[[noreturn]] void read_as_child(std::span<const int> tarballs, const TarballLimits& limits,
                                std::span<const int> contents, int pipe);

/// What the reader that START makes tells of COUNT tarballs, checked. Errors: as
/// read_tarball_apart(), of one or of the reader.
base::Result<std::vector<base::Result<ChangeSetContent>>> read_by(
    const StartReader& start, std::size_t count, const TarballLimits& limits,
    const std::filesystem::path& folder);

}  // namespace quarry::changes
