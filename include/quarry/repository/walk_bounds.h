// What looking at a whole repository may take of the machine.
#pragma once

#include <cstddef>
#include <optional>

namespace quarry::repository {

/// What looking at every artifact of a file takes: rebuild(), verify(), Receipt::complete(). Bytes.
struct WalkBounds {
  /// Contents that wait for what else is made from them: beyond it they are made again.
  std::size_t contents = std::size_t{64} << 20;
  /// Texts of structural artifacts in memory: beyond it they go to a temporary file.
  std::size_t texts = std::size_t{48} << 20;
  /// Lists of the files of check-ins: beyond it they are made again.
  std::size_t lists = std::size_t{160} << 20;
  /// Threads beside the calling one. Nothing: a few, where there are processors for them.
  std::optional<unsigned> helpers = {};
};

}  // namespace quarry::repository
