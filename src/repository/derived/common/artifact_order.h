// The order in which artifacts count where several of them decide about one row: by the time of the
// D card, then by hash, ascending, and each after those that it names. So the derived tables are a
// function of the set of artifacts (quarry-protocol(7) documents the rule).
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
  /// The D card's time (a Julian day; 0 without one) and the hash of an artifact.
  struct Position {
    double day;
    std::string hash;
    friend auto operator<=>(const Position&, const Position&) = default;
  };

  /// None is owned.
  ArtifactOrder(Names& names, Manifests& manifests, Lineage& lineage)
      : names_(names), manifests_(manifests), lineage_(lineage) {}

  // All throw SqliteError.

  Position position(Rid rid);
  /// Whether A comes before B, of which neither names the other.
  bool before(Rid a, Rid b) { return position(a) < position(b); }
  /// Sorts RIDS, each after those of them that are its parents or earlier versions.
  void sort(std::vector<Rid>& rids);

 private:
  Names& names_;
  Manifests& manifests_;
  Lineage& lineage_;
};

}  // namespace quarry::repository
