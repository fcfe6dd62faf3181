// The order of artifacts that affect the same row of a derived table. Artifacts are sorted by the
// time of the D card, then by hash, ascending. Each artifact comes after the artifacts to which it
// refers. With this order, the derived tables depend only on the set of artifacts. The rule is
// documented in quarry-protocol(7).
#pragma once

#include <compare>
#include <string>
#include <vector>

#include "derived/ancestry/lineage.h"
#include "manifests.h"
#include "store/names.h"

namespace quarry::repository {

class ArtifactOrder {
 public:
  /// The time of the artifact's D card (a Julian day, or 0 without a D card), and the artifact's
  /// hash.
  struct Position {
    double day;
    std::string hash;
    friend auto operator<=>(const Position&, const Position&) = default;
  };

  /// Arguments are not owned.
  ArtifactOrder(Names& names, Manifests& manifests, Lineage& lineage)
      : names_(names), manifests_(manifests), lineage_(lineage) {}

  // All functions throw SqliteError.

  Position position(Rid rid);
  /// Returns whether A comes before B. The two artifacts must not refer to each other.
  bool before(Rid a, Rid b) { return position(a) < position(b); }
  /// Sorts RIDS. Parents and earlier versions come before the artifacts that refer to them.
  void sort(std::vector<Rid>& rids);

 private:
  Names& names_;
  Manifests& manifests_;
  Lineage& lineage_;
};

}  // namespace quarry::repository
