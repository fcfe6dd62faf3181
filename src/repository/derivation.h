// The derived tables, computed as artifacts arrive in any order.
//
// What `fossil rebuild` computes is, for nearly every row, a function of the artifacts that are
// there and not of the order in which they came. So each part below can be computed anew for one
// artifact at any time, and an arrival makes those parts anew that depend on it:
//
//   checkin_links   plink, cherrypick, orphan; mlink of a check-in and of those that name it
//   reparenting     plink and mlink of a check-in that a tag gives other parents
//   tags            tag, tagxref: what T cards set, and what descendants inherit
//   timeline        event (check-ins, control artifacts), backlink
//   leaves          leaf
//   clusters        the cluster tag, and what it takes out of unclustered
//
// Everything here runs inside the write transaction of a Receipt (or on verify()'s private copy).
#pragma once

#include <cstdint>
#include <set>
#include <string_view>
#include <unordered_set>
#include <utility>
#include <vector>

#include "manifests.h"
#include "names.h"
#include "quarry/base/time.h"

namespace quarry::repository {

/// What all parts work on. Nothing is owned.
struct DerivationContext {
  Database& database;
  ContentStore& contents;
  Names& names;
  Manifests& manifests;
  const base::Clock& clock;
};

class Derivation {
 public:
  explicit Derivation(DerivationContext context) : c_(context) {}

  /// RID's content has become available and is of TYPE.
  void arrived(Rid rid, artifact::StructuralType type);
  /// Brings every derived table up to date with what arrived. Throws SqliteError.
  void run();
  /// Forgets what arrived: it was rolled back.
  void forget_pending();
  /// What a tag has made private since the last call.
  std::vector<Rid> take_hidden() { return std::exchange(hidden_, {}); }
  bool has_pending() const {
    return !check_ins_.empty() || !controls_.empty() || !clusters_.empty();
  }

 private:
  struct Dated {
    double day;
    Rid rid;
    friend auto operator<=>(const Dated&, const Dated&) = default;
  };

  // checkin_links.cc
  bool link_check_in(Rid rid, const artifact::Structural& manifest);
  void link_parents(Rid rid, const artifact::Structural& manifest,
                    const std::vector<std::string_view>& parents);
  std::vector<Rid> parents_of(Rid rid);
  Rid primary_parent(Rid rid);
  void link_cherrypicks(Rid rid, const artifact::Structural& manifest);
  void collect_relatives(Rid rid);
  void resolve_cherrypicks();
  void compute_mlinks(Rid rid);
  std::optional<FileSet> file_set(Rid rid);
  void make_public(Rid rid);

  // tags.cc
  void apply_tags(Rid rid, const artifact::Structural& artifact, double day);
  void set_tag(std::int64_t tag, int type, std::optional<std::string_view> value, Rid source,
               double day, Rid target);
  void inherit_tags(Rid rid, Rid parent);
  void spread_tag(std::int64_t tag, Rid from);
  void note_tag_change(std::int64_t tag, Rid rid);

  // reparenting.cc
  /// The parents that a tag gives the check-in RID in place of those in its manifest; none if no
  /// tag does.
  std::vector<artifact::HashName> parents_by_tag(Rid rid);
  /// Links RID with the parents that a tag gives it; nothing happens where none does.
  void reparent(Rid rid);

  // timeline.cc
  void make_check_in_event(Rid rid, const artifact::Structural& manifest);
  void make_control_event(Rid rid, const artifact::Structural& control);
  void refresh_event(Rid rid);
  void adjust_times();

  // leaves.cc
  void refresh_leaf(Rid rid);
  /// The new check-in RID may be why a parent is a leaf no longer.
  void outgrow_parents(Rid rid);

  // clusters.cc
  void apply_cluster(Rid rid, const artifact::Structural& cluster);

  DerivationContext c_;
  std::vector<Rid> clusters_;
  std::set<Dated> check_ins_;
  std::set<Dated> controls_;

  // Filled while run() works.
  std::set<Rid> stale_mlinks_;
  std::set<Rid> stale_events_;
  std::set<Rid> stale_leaves_;
  std::set<Rid> new_children_;
  std::set<Rid> stale_times_;

  std::vector<Rid> hidden_;
};

/// Empties every derived table that Derivation computes, keeping the truth; for a recomputation.
void clear_derived(Database& database);

}  // namespace quarry::repository
