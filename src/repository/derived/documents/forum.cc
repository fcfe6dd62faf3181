// Forum threads. A thread has a first post (the root), replies, and edits of these posts. Each of
// them is an artifact.
//
// Every row of `event` has the title of the thread, which is the title of the root's last version
// (artifact_order.h). If a post names a reply as its root, this reply is the root of a separate
// thread. If a separate thread does not have its own title, it has the title of the thread above.
// In the thread above, the root of the separate thread is a reply. If the root is missing or is not
// a post, the title is "Unknown".

#include "forum.h"

#include <fmt/core.h>

#include <set>
#include <utility>

#include "derived/common/backlinks.h"
#include "derived/common/printed_day.h"
#include "markup/text_links.h"

namespace quarry::repository {

using artifact::Structural;
using artifact::StructuralType;

namespace {

void make_table(Database& database) {
  if (database.has_table("forumpost")) return;
  database.execute(
      "CREATE TABLE forumpost(\n  fpid INTEGER PRIMARY KEY,\n  froot INT,\n  fprev INT,\n"
      "  firt INT,\n  fmtime REAL\n);"
      "CREATE INDEX forumthread ON forumpost(froot,fmtime);");
}

/// Returns the topmost thread above ROOT.
Rid thread_above(Database& database, Rid root) {
  Query query = database.query("SELECT froot FROM forumpost WHERE fpid=?1");
  while (query.bind(root).step() && query.integer(0) != root) {
    root = query.integer(0);
    query.rewind();
  }
  return root;
}

}  // namespace

void Forum::add_forum_post(Rid rid, const Structural& post) {
  make_table(work_.database);
  document_links_.link_versions(rid, post);
  events_.touch_search('f', rid);
  const double day = printed_day(work_.database, *post.date);
  const auto rid_of = [&](std::string_view name) {
    return name.empty() ? 0 : work_.names.need(name);
  };
  const Rid root = post.thread_root.empty() ? rid : work_.names.need(post.thread_root);
  work_.database.execute(
      "INSERT OR REPLACE INTO forumpost(fpid,froot,fprev,firt,fmtime)"
      " VALUES(?1,?2,nullif(?3,0),nullif(?4,0),?5)",
      rid, root, post.parents.empty() ? 0 : rid_of(post.parents.front()), rid_of(post.in_reply_to),
      day);
  work_.pending.stale_threads.insert(root);
  if (post.text.empty()) return;
  const auto mimetype = post.mimetype.empty() ? std::nullopt : std::optional(post.mimetype);
  write_backlinks(work_.database, BacklinkSource::kForum, rid,
                  text_links(post.text, markup_of(mimetype)), day);
}

void Forum::refresh_threads() {
  std::set<Rid> roots;
  for (const Rid root : work_.pending.stale_threads)
    roots.insert(thread_above(work_.database, root));
  for (const Rid root : roots) refresh_thread(root);
}

std::vector<Forum::Post> Forum::posts_of(Rid thread) {
  std::vector<Post> posts;
  Query query = work_.database.query(
      "SELECT fpid, firt IS NULL, fprev IS NOT NULL FROM forumpost INDEXED BY forumthread WHERE "
      "froot=?1",
      thread);
  while (query.step()) {
    posts.push_back({query.integer(0), query.integer(1) != 0, query.integer(2) != 0});
  }
  return posts;
}

/// Returns the title of the thread that consists of POSTS. TITLE_ABOVE is the title of the thread
/// above: the thread in which the root is a reply.
std::string Forum::title_of(const std::vector<Post>& posts, const std::string& title_above) {
  std::vector<Rid> versions;
  for (const Post& post : posts) {
    if (post.is_root) versions.push_back(post.rid);
  }
  if (versions.empty()) return title_above;
  work_.order.sort(versions);
  const Manifest last = work_.manifests.get(versions.back());
  return std::string(last && !last->thread_title.empty() ? last->thread_title : kNoTitle);
}

/// Recomputes the posts of the thread ROOT, and of the threads below it.
void Forum::refresh_thread(Rid root) {
  std::vector<std::pair<Rid, std::string>> threads{{root, kUnknownTitle}};
  while (!threads.empty()) {
    const auto [thread, title_above] = std::move(threads.back());
    threads.pop_back();
    const std::vector<Post> posts = posts_of(thread);
    const std::string title = title_of(posts, title_above);
    for (const Post& post : posts) {
      put_event(post, title);
      if (post.rid != thread) threads.emplace_back(post.rid, title);
    }
  }
}

void Forum::put_event(const Post& post, const std::string& title) {
  {
    // Do not write unchanged rows: most posts of a thread already have the right title.
    const bool is_same = work_.database.has_row(
        "SELECT 1 FROM event WHERE objid=?1 AND type='f'"
        " AND substr(comment,instr(comment,':')) = ': '||?2",
        post.rid, title);
    if (is_same) return;
  }
  const Manifest artifact = work_.manifests.get(post.rid);
  if (!artifact || artifact->type != StructuralType::kForumPost) return;
  const char* kind = post.is_edit ? "Edit reply" : "Reply";
  if (post.is_root) {
    kind = post.is_edit ? "Edit" : "Post";
  } else if (artifact->text.empty() || artifact->text.front() == '\0') {
    kind = "Delete reply";
  }
  events_.put_event(post.rid, *artifact,
                    {.type = 'f',
                     .day = printed_day(work_.database, *artifact->date),
                     .comment = fmt::format("{}: {}", kind, title)});
}

}  // namespace quarry::repository
