// The derived tables, computed as artifacts arrive in any order.
//
// Every row is a function of the artifacts that are there, not of the order in which they came: where
// several decide about one, they count in the order of artifact_order.h. So each part can compute
// anew what it has of one artifact at any time, and an arrival has those parts work again that depend
// on it. A part is a class, which has a family of tables:
//
//   checkin_links   plink, cherrypick, orphan
//   reparenting     plink and mlink of a check-in that a tag gives other parents
//   file_links      mlink of a check-in and of those that name it
//   tags            tag, tagxref: what T cards set, and what descendants inherit
//   timeline        event (check-ins, control artifacts), backlink
//   events          the rows of event for all others, pending_alert, ftsdocs
//   event_tags, event_times
//                   what tags, and close relatives, make of rows of event
//   document_links  plink of wiki pages, technotes and posts
//   pages           wiki pages and technotes: their tags, event, backlink
//   attachments     attachment, and its event
//   tickets         ticket, ticketchng, and the events and backlinks of ticket changes
//   forum           forumpost, and the events and backlinks of posts
//   leaves          leaf
//   clusters        the cluster tag, and what it takes out of unclustered
//
// What came waits in a Pending. A run takes that away, has the parts told of each artifact in turn,
// and then has them make what they have marked in it (derivation.cc has the order). A part calls
// only parts that do not call it; where one has to be told something later, a mark does that.
//
// Everything here runs inside the write transaction of a Receipt (or on verify()'s private copy).
// Where all artifacts arrive at once, in empty tables, see bulk_load.h.
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
  DerivationContext context_;
  Pending pending_;
  std::vector<Rid> hidden_;
  bool is_quiet_ = false;
};

/// Empties the derived tables that Derivation computes, for a recomputation; but names of files and
/// tags keep their numbers, so that its rows can be compared with those before.
void clear_derived(Database& database);

}  // namespace quarry::repository
