// One run of the derivation, over what is pending (see derivation.h for the parts).
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "checkin_links.h"
#include "event_tags.h"
#include "event_times.h"
#include "events.h"
#include "file_links.h"
#include "leaves.h"
#include "reparenting.h"
#include "timeline.h"
#include "work.h"

namespace quarry::repository {

struct TicketFields;

class DerivationRun {
 public:
  DerivationRun(const DerivationContext& context, Pending&& pending, bool is_quiet)
      : work_(context, std::move(pending), is_quiet) {}

  /// Brings every derived table up to date. Returns what a tag has made private. Throws SqliteError.
  std::vector<Rid> run();

 private:
  void add_other(Rid rid, const artifact::Structural& artifact, double day);
  void refresh_others();
  void add_check_ins();
  void add_controls_and_others();
  void refresh_stale();
  void begin_whole();
  void drop_index(const char* name);
  void make_index(const std::string& name);
  void write_lineage_and_tags();
  void end_whole();

  // tags.cc
  void apply_tags(Rid rid, const artifact::Structural& artifact, double day);
  void set_tag(std::int64_t tag, int type, std::optional<std::string_view> value, Rid source,
               double day, Rid target);
  void inherit_tags(Rid rid, Rid parent);
  void spread_tag(std::int64_t tag, Rid from);
  void note_tag_change(std::int64_t tag, Rid rid);

  // tag_disputes.cc
  void note_documents_below(Rid rid);
  /// CARD comes, where PRESENT is so far.
  void look_for_dispute(std::int64_t tag, const TagEntry& card,
                        const std::optional<TagEntry>& present);
  /// RID, which is linked with its parent next, has tags or descendants already.
  void note_if_late(Rid rid);
  /// The new check-in RID changes when a rebuild looks at its ancestors, perhaps.
  void note_put_off(Rid rid);
  /// RID with all that is above it, or with all that is below it.
  struct Side {
    bool is_above;
    std::vector<Rid> rids;
  };
  /// What is less, but for what has been SEEN; nothing: too many steps.
  std::optional<Side> smaller_side(Rid rid, const std::set<Rid>& seen_above,
                                   const std::set<Rid>& seen_below);
  /// The cards above LATE, or on it, meet those below it, or on it, for the first time. What has
  /// been looked at is in SEEN_….
  void look_for_disputes_around(Rid late, std::set<Rid>& seen_above, std::set<Rid>& seen_below);
  void look_for_disputes_anywhere();
  void settle_disputes();

  // disputed_tags.cc
  class Dispute;
  void replay_disputed();

  // pages.cc
  void link_versions(Rid rid, const artifact::Structural& later);
  void note_moved_document(Rid rid);
  bool has_prior(const artifact::Structural& later);
  void add_wiki_page(Rid rid, const artifact::Structural& page, double day);
  void refresh_wiki_links(std::int64_t tag);
  void add_technote(Rid rid, const artifact::Structural& note, double day);
  void refresh_technote(std::int64_t tag);

  // attachments.cc
  void add_attachment(Rid rid, const artifact::Structural& artifact);
  struct AttachmentEvent {
    char type;
    std::string comment;
  };
  struct Span {
    Rid first = 0, last = 0;
  };
  struct AttachmentTarget {
    Span ticket, note;
  };
  Span span_of(std::int64_t tag, Rid until);
  AttachmentTarget attachment_target(std::string_view target, Rid until);
  AttachmentEvent attachment_event(Rid rid, const artifact::AttachmentCard& card,
                                   const AttachmentTarget& seen);
  void refresh_attachments(const std::string& target);

  // tickets.cc
  void add_ticket_change(Rid rid, const artifact::Structural& change, double day);
  void refresh_tickets();
  void refresh_ticket(const std::string& id, const TicketFields& fields);

  // forum.cc
  void add_forum_post(Rid rid, const artifact::Structural& post);
  void refresh_threads();
  void refresh_thread(Rid root);
  std::string title_elsewhere(Rid root, Rid reply);

  // clusters.cc
  void apply_cluster(Rid rid, const artifact::Structural& cluster);

  Work work_;
  Events events_{work_};
  CheckinLinks checkin_links_{work_};
  Reparenting reparenting_{work_, checkin_links_};
  FileLinks file_links_{work_, reparenting_};
  EventTimes event_times_{work_, file_links_, events_};
  EventTags event_tags_{work_, event_times_};
  Timeline timeline_{work_, events_};
  Leaves leaves_{work_};
  std::map<std::string, std::string> dropped_indexes_;  // and how they are made

  std::set<std::int64_t> disputed_;  // tags
  std::size_t dispute_steps_ = 0;    // see kMostSteps
  bool looks_everywhere_ = false;    // for disputes
  std::set<Rid> put_off_;            // check-ins that a rebuild may look at later than before
};

}  // namespace quarry::repository
