// Rows of the derived tables that depend on the order in which artifacts are processed. Our order
// is a function of the artifacts (artifact_order.h). `fossil rebuild` processes them in an order
// that depends on row ids and on how the artifacts are stored, so it may compute other rows from
// the same artifacts. Only the artifacts determine which rows can differ: each such row belongs to
// a class that quarry-protocol(7) lists.
//
// verify() uses this with recomputed tables.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "derived/ancestry/lineage.h"
#include "derived/ancestry/tag_entries.h"
#include "derived/common/manifests.h"
#include "store/database.h"
#include "store/names.h"

namespace quarry::repository {

/// The name of a class, to be read by people. nullopt if the row does not depend on the order.
using OrderClass = std::optional<std::string_view>;

class OrderDependence {
 public:
  /// Arguments are not owned.
  OrderDependence(Database& database, Names& names, Manifests& manifests)
      : database_(database),
        names_(names),
        manifests_(manifests),
        lineage_(database),
        tags_(database) {}

  /// The class of a row of TABLE that only one side has. KEY is the key in DerivedRows. COLUMNS are
  /// used only for `event`: the columns in which both rows differ; empty if one side does not have
  /// a row. Throws SqliteError.
  OrderClass class_of(std::string_view table, std::pair<std::int64_t, std::int64_t> key,
                      const std::set<std::string>& columns);

 private:
  using TaggedArtifact = std::pair<std::int64_t, Rid>;  // tag, artifact
  /// The effect of the cards for one tag on an artifact and its ancestors.
  struct TagState {
    double latest = 0;  // the time of the latest card
    OrderClass row;     // class of the artifact's row
  };

  bool has(const char* sql, std::int64_t key);
  bool has_equal_times(std::int64_t tag);
  bool has_other_parents(Rid rid);
  bool has_unusual_relatives(Rid rid);
  std::vector<Rid> close_children(Rid rid);
  void read_cards();
  TagState tag_state(std::int64_t tag, Rid rid, const TagState& above);

  OrderClass of_tag(std::int64_t tag, Rid rid);
  OrderClass of_event(Rid rid, const std::set<std::string>& columns);
  OrderClass of_check_in_column(const std::string& column, Rid rid);
  OrderClass of_document_column(const std::string& column, Rid rid);
  OrderClass of_edit(PredefinedTag tag, Rid rid);
  OrderClass of_time(Rid rid);
  OrderClass of_title(Rid rid, const artifact::Structural& post);
  OrderClass of_leaf(Rid rid);
  OrderClass of_backlink(std::int64_t type, std::int64_t source);

  Database& database_;
  Names& names_;
  Manifests& manifests_;
  Lineage lineage_;
  TagEntries tags_;
  std::map<TaggedArtifact, TagState> states_;
  std::optional<std::set<TaggedArtifact>>
      tied_;  // tags that depend on cards with equal times; computed when first needed
};

}  // namespace quarry::repository
