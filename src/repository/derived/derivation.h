// The derived tables, computed as artifacts arrive in any order.
//
// Every row depends only on the set of artifacts, not on the order in which they arrived. If
// several artifacts affect the same row, the order of artifact_order.h applies. Therefore, a part
// can recompute its rows for an artifact whenever a related artifact arrives. A part is a class
// that owns a family of tables:
//
//   checkin_links   plink, cherrypick, orphan
//   reparenting     plink and mlink of a check-in whose parents are set by a tag
//   file_links      mlink of a check-in and of check-ins that refer to it
//   tags            tag, tagxref: tags from T cards, and inherited tags
//   timeline        event (check-ins, control artifacts), backlink
//   events          event (all other artifacts), pending_alert, ftsdocs
//   event_tags, event_times
//                   changes of event by tags and by close relatives
//   document_links  plink of wiki pages, technotes and posts
//   pages           tags, event and backlink of wiki pages and technotes
//   attachments     attachment, and its event
//   tickets         ticket, ticketchng, and the events and backlinks of ticket changes
//   forum           forumpost, and the events and backlinks of posts
//   leaves          leaf
//
// New artifacts are collected in a Pending. A run takes the Pending, passes each artifact to the
// parts, and then calls the parts to recompute the rows that they have marked in the Pending. The
// order is in derivation.cc. Calls between parts do not form a cycle. A mark in the Pending
// replaces a call in the opposite direction.
//
// The derivation runs inside the write transaction of a Receipt (or on verify()'s private copy). If
// the tables are empty and all artifacts arrive together, bulk_load.h makes the derivation faster.
#pragma once

#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "derived/common/work.h"

namespace quarry::repository {

class Derivation {
 public:
  explicit Derivation(const DerivationContext& context) : context_(context) {}

  /// Call after the content of RID has become available. TYPE is nullopt for plain data.
  void arrived(Rid rid, std::optional<artifact::StructuralType> type);
  /// Updates all derived tables for the artifacts that have arrived. Throws SqliteError. After an
  /// exception, the pending work is lost.
  void run();
  /// Discards the pending work after a rollback.
  void forget_pending();
  /// Returns the artifacts that a tag has made private since the last call.
  std::vector<Rid> take_hidden() { return std::exchange(hidden_, {}); }
  /// Call after the setting NAME has changed. If NAME is `ticket-table`, creates the ticket tables
  /// again according to the new definition. If the definition is invalid, the tables stay
  /// unchanged. Marks all tickets if their rows, or their descriptions in the timeline, depend on
  /// the setting. Throws SqliteError.
  void setting_changed(std::string_view name);
  bool has_pending() const { return !pending_.is_empty(); }
  /// Suppresses notifications about events. Call before a complete recomputation.
  void keep_quiet() { is_quiet_ = true; }
  /// Call if the tables are empty and all artifacts of the file will arrive before run().
  void expect_everything() { pending_.is_everything = true; }

 private:
  DerivationContext context_;
  Pending pending_;
  std::vector<Rid> hidden_;
  bool is_quiet_ = false;
};

/// Empties the derived tables for a recomputation. File names and tags keep their ids, so that the
/// new rows can be compared with the previous rows.
void clear_derived(Database& database);

}  // namespace quarry::repository
