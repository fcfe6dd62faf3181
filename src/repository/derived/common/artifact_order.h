// The order that applies if several artifacts decide about one row: by the time of the D card, then
// by hash, ascending, and each artifact after those to which it refers. So the derived tables
// depend only on the set of artifacts (quarry-protocol(7) documents the rule).
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
  /// The time of the artifact's D card (a Julian day; 0 if there is none), and the artifact's hash.
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
  /// Whether A comes before B, if neither refers to the other.
  bool before(Rid a, Rid b) { return position(a) < position(b); }
  /// Sorts RIDS, each after its parents or earlier versions among them.
  void sort(std::vector<Rid>& rids);

 private:
  Names& names_;
  Manifests& manifests_;
  Lineage& lineage_;
};

}  // namespace quarry::repository
