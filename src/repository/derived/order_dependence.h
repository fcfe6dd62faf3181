// Rows of the derived tables that depend on the order in which artifacts are processed. Here that is
// an order of the artifacts themselves (artifact_order.h); `fossil rebuild` goes by row numbers and by
// how artifacts are stored, so that it may make other rows of the same artifacts. Which rows these can
// be follows from the artifacts alone: each belongs to a class that quarry-protocol(7) lists.
//
// For verify(): it is asked of the tables as a recomputation has made them.
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

/// The name of a class, for people; nothing: the row depends on no order.
using OrderClass = std::optional<std::string_view>;

class OrderDependence {
 public:
  /// None is owned.
  OrderDependence(Database& database, Names& names, Manifests& manifests)
      : database_(database),
        names_(names),
        manifests_(manifests),
        lineage_(database),
        tags_(database) {}

  /// The class of a row of TABLE which only one side has; KEY is that of DerivedRows. COLUMNS, of
  /// `event` alone: those in which both sides' rows differ; none if one side has no row. Throws
  /// SqliteError.
  OrderClass class_of(std::string_view table, std::pair<std::int64_t, std::int64_t> key,
                      const std::set<std::string>& columns);

 private:
  using TaggedArtifact = std::pair<std::int64_t, Rid>;  // tag, artifact
  /// What the cards on an artifact and on its ancestors make of one tag.
  struct TagState {
    double latest = 0;  // the time of the latest card
    OrderClass row;     // of the artifact
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
  std::optional<std::set<TaggedArtifact>> tied_;  // by cards of one time; once it was asked for
};

}  // namespace quarry::repository
