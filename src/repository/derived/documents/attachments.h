// Attachments to wiki pages, tickets and technotes, and their removals (`attachment`), and what the
// timeline tells of them.
//
// Told when one comes; marks what it hangs on. What is told of all that hang on one thing is made
// when all that came is known.
#pragma once

#include <string>
#include <string_view>

#include "derived/common/events.h"
#include "derived/common/work.h"

namespace quarry::repository {

class Attachments {
 public:
  /// None is owned.
  Attachments(Work& work, Events& events) : work_(work), events_(events) {}

  /// What the timeline tells.
  struct AttachmentEvent {
    char type;
    std::string comment;
  };
  /// The artifacts that carry a tag themselves: the first and the last that a rebuild sees, 0 where
  /// there are none.
  struct Span {
    Rid first = 0, last = 0;
    bool is_again = false;  // it sees the last for the second time
  };
  /// What a rebuild has seen of that which an attachment hangs on.
  struct AttachmentTarget {
    Span ticket, note;
  };

  // All throw SqliteError.

  /// The attachment ARTIFACT, or the removal of one, which is RID, has come.
  void add_attachment(Rid rid, const artifact::Structural& artifact);
  /// The events of everything that hangs on TARGET.
  void refresh_attachments(const std::string& target);

  /// What a rebuild has seen of TARGET before UNTIL (0: at the end).
  AttachmentTarget attachment_target(std::string_view target, Rid until);
  /// What the timeline tells of the attachment RID, where SEEN of its target has been seen.
  AttachmentEvent attachment_event(Rid rid, const artifact::AttachmentCard& card,
                                   const AttachmentTarget& seen);

 private:
  Span span_of(std::int64_t tag, Rid until);
  void take_second_look(Span& span, Rid rid);

  Work& work_;
  Events& events_;
};

}  // namespace quarry::repository
