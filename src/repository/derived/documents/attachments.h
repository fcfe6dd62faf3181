// Attachments to wiki pages, tickets and technotes, and their removals (`attachment`), and what the
// timeline tells of them.
//
// Told when one comes; marks what it hangs on. What is told of all that hang on one thing is made
// when all that came is known.
#pragma once

#include <optional>
#include <string>

#include "derived/common/events.h"
#include "derived/common/work.h"

namespace quarry::repository {

class Attachments {
 public:
  /// None is owned.
  Attachments(Work& work, Events& events) : work_(work), events_(events) {}

  // All throw SqliteError.

  /// The attachment ARTIFACT, or the removal of one, which is RID, has come.
  void add_attachment(Rid rid, const artifact::Structural& artifact);
  /// The events of everything that hangs on TARGET.
  void refresh_attachments(const std::string& target);

 private:
  /// What the timeline tells.
  struct AttachmentEvent {
    char type;
    std::string comment;
  };
  /// The last artifact of each kind that an attachment hangs on.
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
