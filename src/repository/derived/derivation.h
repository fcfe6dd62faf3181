// The derived tables, computed as artifacts arrive in any order.
//
// Every row is a function of the set of artifacts, not of the order in which they arrived: if
// several artifacts decide about one row, the order of artifact_order.h applies. So each part can
// recompute its rows for one artifact at any time, and does so when a related artifact arrives. A
// part is a class that owns a family of tables:
//
//   checkin_links   plink, cherrypick, orphan
//   reparenting     plink and mlink of a check-in whose parents are set by a tag
//   file_links      mlink of a check-in and of check-ins that refer to it
//   tags            tag, tagxref: what T cards set, and what descendants inherit
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
// parts, and then lets the parts recompute the rows that they have marked in it (derivation.cc has
// the order). Calls between parts do not form a cycle; a mark in Pending replaces a call in the
// opposite direction.
//
// All of this runs inside the write transaction of a Receipt (or on verify()'s private copy).
// bulk_load.h handles the case that the tables are empty and all artifacts arrive together.
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

  /// Call when the content of RID has become available. TYPE is nullopt for plain data.
  void arrived(Rid rid, std::optional<artifact::StructuralType> type);
  /// Updates all derived tables for the artifacts that arrived. Throws SqliteError; the pending
  /// work is then lost.
  void run();
  /// Drops the pending work after a rollback.
  void forget_pending();
  /// Returns the artifacts that a tag has made private since the last call.
  std::vector<Rid> take_hidden() { return std::exchange(hidden_, {}); }
  /// Call after the setting NAME has changed. If it is `ticket-table`, the ticket tables are
  /// created again as it defines them, or stay unchanged if the definition is invalid. Two other
  /// settings affect tickets in the timeline. Throws SqliteError.
  void setting_changed(std::string_view name);
  bool has_pending() const { return !pending_.is_empty(); }
  /// Suppresses notifications about events, for a complete recomputation.
  void keep_quiet() { is_quiet_ = true; }
  /// Announces that the tables are empty, and that all artifacts of the file arrive before run().
  void expect_everything() { pending_.is_everything = true; }

 private:
  DerivationContext context_;
  Pending pending_;
  std::vector<Rid> hidden_;
  bool is_quiet_ = false;
};

/// Empties the derived tables for a recomputation. File names and tags keep their ids, so that the
/// rows can be compared with the previous ones.
void clear_derived(Database& database);

}  // namespace quarry::repository
