// Resource limits of operations that read a whole repository.
#pragma once

#include <cstddef>
#include <optional>

namespace quarry::repository {

/// Limits for rebuild(), verify() and Receipt::complete(), which read every artifact. Sizes are in
/// bytes.
struct WalkBounds {
  /// Limit on contents kept in memory because other deltas are based on them. Beyond this limit,
  /// contents are expanded again when needed.
  std::size_t contents = std::size_t{64} << 20;
  /// Limit on texts of structural artifacts kept in memory. Beyond this limit, texts are written to
  /// a temporary file.
  std::size_t texts = std::size_t{48} << 20;
  /// Limit on file lists of check-ins kept in memory. Beyond this limit, lists are computed again
  /// when needed.
  std::size_t lists = std::size_t{160} << 20;
  /// Number of additional threads (default: a few, limited by the number of processors).
  std::optional<unsigned> helpers = {};
};

}  // namespace quarry::repository
