// Forum threads (`forumpost`): the rows of posts in the timeline, and the links in posts
// (`backlink`).
//
// The derivation calls this class for new posts. The class marks the threads of the posts. The
// titles of marked threads are computed after all new artifacts have been added.
#pragma once

#include <string>
#include <vector>

#include "derived/common/events.h"
#include "derived/common/work.h"
#include "document_links.h"

namespace quarry::repository {

/// The titles of a thread whose root is missing or not a post, and of a thread without a title.
constexpr const char* kUnknownTitle = "<i>Unknown</i>";
constexpr const char* kNoTitle = "(Deleted)";

class Forum {
 public:
  /// Arguments are not owned.
  Forum(Work& work, Events& events, DocumentLinks& document_links)
      : work_(work), events_(events), document_links_(document_links) {}

  // Both functions throw SqliteError.

  /// Adds POST, whose row id is RID.
  void add_forum_post(Rid rid, const artifact::Structural& post);
  /// Recomputes the events of all marked threads.
  void refresh_threads();

 private:
  struct Post {
    Rid rid;
    bool is_root;
    bool is_edit;
  };
  std::vector<Post> posts_of(Rid thread);
  std::string title_of(const std::vector<Post>& posts, const std::string& title_above);
  void refresh_thread(Rid root);
  void put_event(const Post& post, const std::string& title);

  Work& work_;
  Events& events_;
  DocumentLinks& document_links_;
};

}  // namespace quarry::repository
