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
#include "clusters.h"
#include "event_tags.h"
#include "event_times.h"
#include "events.h"
#include "file_links.h"
#include "leaves.h"
#include "put_off.h"
#include "reparenting.h"
#include "tag_disputes.h"
#include "tags.h"
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

  // pages.cc
  void link_versions(Rid rid, const artifact::Structural& later);
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

  Work work_;
  Events events_{work_};
  CheckinLinks checkin_links_{work_};
  Reparenting reparenting_{work_, checkin_links_};
  FileLinks file_links_{work_, reparenting_};
  EventTimes event_times_{work_, file_links_, events_};
  EventTags event_tags_{work_, event_times_};
  Timeline timeline_{work_, events_};
  Leaves leaves_{work_};
  PutOff put_off_{work_, events_};
  TagDisputes disputes_{work_, reparenting_};
  Tags tags_{work_, reparenting_, disputes_};
  Clusters clusters_{work_, tags_};
  std::map<std::string, std::string> dropped_indexes_;  // and how they are made
};

}  // namespace quarry::repository
