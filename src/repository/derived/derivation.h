// The derived tables, computed as artifacts arrive in any order.
//
// What `fossil rebuild` computes is, for nearly every row, a function of the artifacts that are
// there and not of the order in which they came. So each part below can be computed anew for one
// artifact at any time, and an arrival makes those parts anew that depend on it:
//
//   checkin_links   plink, cherrypick, orphan
//   file_links      mlink of a check-in and of those that name it
//   reparenting     plink and mlink of a check-in that a tag gives other parents
//   tags            tag, tagxref: what T cards set, and what descendants inherit
//   tag_disputes, disputed_tags
//                   the same, where a rebuild's order of looking at artifacts counts
//   timeline        event (check-ins, control artifacts; the others' rows pass through it),
//                   backlink
//   pages           wiki pages and technotes: their tags, plink, event, backlink
//   attachments     attachment, and its event
//   tickets         ticket, ticketchng, and the events and backlinks of ticket changes
//   forum           forumpost, and the events and backlinks of posts
//   leaves          leaf
//   clusters        the cluster tag, and what it takes out of unclustered
//
// Everything here runs inside the write transaction of a Receipt (or on verify()'s private copy).
//
// Where all artifacts arrive at once, in empty tables, the same parts are computed from what is
// held in memory (Lineage, TagEntries, Names, RebuildOrder): rows are written once, in the order of
// their table, and the indexes that no part needs meanwhile are made at the end. A history in which
// a tag gives check-ins other parents is computed step by step all the same: what is inherited
// depends on when the tag came.
#pragma once

#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "work.h"

namespace quarry::repository {

class Derivation {
 public:
  explicit Derivation(const DerivationContext& context) : context_(context) {}

  /// RID's content has become available and is of TYPE; nothing: plain data.
  void arrived(Rid rid, std::optional<artifact::StructuralType> type);
  /// Brings every derived table up to date with what arrived. Throws SqliteError: then it is
  /// forgotten.
  void run();
  /// Forgets what arrived: it was rolled back.
  void forget_pending();
  /// What a tag has made private since the last call.
  std::vector<Rid> take_hidden() { return std::exchange(hidden_, {}); }
  /// The setting NAME has another value. By `ticket-table` the ticket tables are made anew, or stay
  /// as they are where it is wrong; what the timeline tells of tickets hangs on two more. Throws
  /// SqliteError.
  void setting_changed(std::string_view name);
  bool has_pending() const { return !pending_.is_empty(); }
  /// From now on no event is news to anybody: everything is computed again.
  void keep_quiet() { is_quiet_ = true; }
  /// The tables are empty, and every artifact of the file arrives before run().
  void expect_everything() { pending_.is_everything = true; }

 private:
  void remake_tickets();

  DerivationContext context_;
  Pending pending_;
  std::vector<Rid> hidden_;
  bool is_quiet_ = false;
};

/// Empties the derived tables that Derivation computes, for a recomputation; but names of files and
/// tags keep their numbers, so that its rows can be compared with those before.
void clear_derived(Database& database);

}  // namespace quarry::repository
