// Attachments to wiki pages, tickets and technotes, their removals (`attachment`), and their rows
// in the timeline.
//
// The derivation calls this class for new attachments and removals. The class marks the target of
// each attachment. After all new artifacts have been added, the timeline rows for all attachments
// of marked targets are computed.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "derived/common/events.h"
#include "derived/common/work.h"

namespace quarry::repository {

class Attachments {
 public:
  /// The values in an attachment's timeline row that depend on the attachment's target.
  struct AttachmentEvent {
    char type;
    std::string comment;
  };

  /// Arguments are not owned.
  Attachments(Work& work, Events& events) : work_(work), events_(events) {}

  // All functions throw SqliteError.

  /// Adds ARTIFACT, an attachment or the removal of one. RID is the row id of ARTIFACT.
  void add_attachment(Rid rid, const artifact::Structural& artifact);
  /// Recomputes the events of all attachments of TARGET.
  void refresh_attachments(const std::string& target);
  /// Returns the possible events of the attachment CARD, whose row id is RID. The event depends on
  /// whether the attachment or its target comes first. If IS_EARLY, includes the event of an
  /// attachment whose target has not arrived.
  std::vector<AttachmentEvent> possible_events(Rid rid, const artifact::AttachmentCard& card,
                                               bool is_early);

 private:
  /// The last artifact of each kind that can be the target of an attachment.
  struct AttachmentTarget {
    std::optional<ArtifactOrder::Position> ticket, note;
  };
  std::optional<ArtifactOrder::Position> last_with(const std::string& tag);
  AttachmentEvent attachment_event(Rid rid, const artifact::AttachmentCard& card,
                                   const AttachmentTarget& target);

  Work& work_;
  Events& events_;
};

}  // namespace quarry::repository
