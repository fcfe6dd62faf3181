// One run of the derivation, over what is pending (see derivation.h for the parts).
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "markup/text_links.h"
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

  // checkin_links.cc
  bool link_check_in(Rid rid, const artifact::Structural& manifest);
  void link_parents(Rid rid, const artifact::Structural& manifest,
                    const std::vector<std::string_view>& parents);
  void link_cherrypicks(Rid rid, const artifact::Structural& manifest);
  void collect_children(Rid rid);
  void collect_relatives(Rid rid);
  void resolve_cherrypicks();

  // file_links.cc
  struct FileLinks;
  void compute_mlinks(Rid rid);
  bool compare_files(FileLinks& child, const std::vector<std::string_view>& parents);
  void note_names(FileLinks& child);
  bool comes_to(Rid child, Rid parent);
  void note_documents_below(Rid rid);
  bool is_compared_later(Rid child, std::string_view primary, Rid parent);
  std::optional<FileSet> file_set(Rid rid);
  void make_public(Rid rid);

  // tags.cc
  void apply_tags(Rid rid, const artifact::Structural& artifact, double day);
  void set_tag(std::int64_t tag, int type, std::optional<std::string_view> value, Rid source,
               double day, Rid target);
  void inherit_tags(Rid rid, Rid parent);
  void spread_tag(std::int64_t tag, Rid from);
  void note_tag_change(std::int64_t tag, Rid rid);

  // tag_disputes.cc
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

  // reparenting.cc
  /// The parents that a tag gives the check-in RID in place of those in its manifest; none if no
  /// tag does.
  std::vector<artifact::HashName> parents_by_tag(Rid rid);
  /// Links RID with the parents that a tag gives it; nothing happens where none does.
  void reparent(Rid rid);
  void note_reparented();

  // timeline.cc
  void make_check_in_event(Rid rid, const artifact::Structural& manifest);
  void make_control_event(Rid rid, const artifact::Structural& control);
  /// What the timeline says of a control artifact, in fossil's words.
  std::string describe(const artifact::Structural& control);

  // event_tags.cc
  void refresh_event(Rid rid);
  void refresh_check_in_event(Rid rid);

  // event_times.cc
  bool is_compared(Rid child, Rid parent, bool is_primary);
  void note_compared_times(Rid rid);
  void forget_moved_time(Rid rid);
  std::optional<double> date_of(Rid rid);
  std::vector<Dated> close_children(Rid rid, double day);
  void adjust_times();

  // events.cc
  /// What the row of `event` says before tags change it. Views are of the caller's.
  struct Event {
    char type;
    double day;
    std::optional<std::string> comment;
    std::optional<std::string> brief = {};
    std::int64_t tag = 0;  // 0: none
  };
  /// Tags may have come before RID, which they are on: its event then takes them in.
  void note_earlier_tags(Rid rid);
  /// Writes the row for the artifact RID unless it is there and says the same.
  void put_event(Rid rid, const artifact::Structural& artifact, const Event& event);
  /// Where mail alerts are set up, a new event waits in pending_alert for the next notification.
  void note_for_alerts(char type, Rid rid);
  /// Makes a document's text known to the next update of fossil's search index.
  void touch_search(char type, Rid rid, std::optional<std::string_view> name = std::nullopt);
  /// How many digits of a hash are shown to people; in a link it is six more.
  std::size_t shown_digits();
  std::string shown(std::string_view hash) { return std::string(hash.substr(0, shown_digits())); }
  std::string linked(std::string_view hash);

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

  // leaves.cc
  bool has_child_on_its_branch(Rid rid);
  bool names_branch_of_parents(Rid rid);
  bool is_looked_at_for_leaves(Rid rid, Rid changed);
  void refresh_leaf(Rid rid);
  /// The new check-in RID may be why a parent is a leaf no longer.
  void outgrow_parents(Rid rid);

  // clusters.cc
  void apply_cluster(Rid rid, const artifact::Structural& cluster);

  Work work_;
  std::map<std::string, std::string> dropped_indexes_;  // and how they are made
  std::optional<bool> has_search_index_, has_alerts_;

  std::set<std::int64_t> disputed_;  // tags
  std::size_t dispute_steps_ = 0;    // see kMostSteps
  bool looks_everywhere_ = false;    // for disputes
  std::set<Rid> put_off_;            // check-ins that a rebuild may look at later than before
};

}  // namespace quarry::repository
