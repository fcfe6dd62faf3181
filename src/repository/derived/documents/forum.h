// Forum threads (`forumpost`): what the timeline tells of posts, and the links in them
// (`backlink`).
//
// Told when a post comes; marks its thread. The titles of a thread are made when all that came is
// known.
#pragma once

#include <string>

#include "attachments.h"
#include "derived/common/events.h"
#include "derived/common/work.h"
#include "document_links.h"

namespace quarry::repository {

class Forum {
 public:
  /// None is owned.
  Forum(Work& work, Events& events, DocumentLinks& document_links, Attachments& attachments)
      : work_(work), events_(events), document_links_(document_links), attachments_(attachments) {}

  // Both throw SqliteError.

  /// POST, which is RID, has come.
  void add_forum_post(Rid rid, const artifact::Structural& post);
  /// The events of every thread that is marked.
  void refresh_threads();

 private:
  void refresh_thread(Rid root);
  std::string title_elsewhere(Rid root, Rid reply);

  Work& work_;
  Events& events_;
  DocumentLinks& document_links_;
  Attachments& attachments_;
};

}  // namespace quarry::repository
