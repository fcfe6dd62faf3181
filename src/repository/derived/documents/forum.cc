// Forum threads: the first post (its root), replies, and edits of both, each an artifact.
//
// Every row of `event` shows the title of the thread. In fossil each version of the root that comes
// gives its title to all posts that are there, whatever its date; a reply that comes takes the
// root's, and "Unknown" where the root is not there. So the titles are those that the posts get in
// the order of a rebuild. A reply may name another one for its root: that is a thread of its own,
// whose posts begin with the title that the other has then.

#include "forum.h"

#include <fmt/core.h>

#include <algorithm>
#include <map>
#include <set>
#include <vector>

#include "derived/common/backlinks.h"
#include "derived/common/printed_day.h"
#include "markup/text_links.h"

namespace quarry::repository {

using artifact::Structural;
using artifact::StructuralType;

namespace {

constexpr const char* kUnknownTitle = "<i>Unknown</i>";
constexpr const char* kNoTitle = "(Deleted)";

void make_table(Database& database) {
  if (database.has_table("forumpost")) return;
  database.execute(
      "CREATE TABLE forumpost(\n  fpid INTEGER PRIMARY KEY,\n  froot INT,\n  fprev INT,\n"
      "  firt INT,\n  fmtime REAL\n);"
      "CREATE INDEX forumthread ON forumpost(froot,fmtime);");
}

struct Post {
  Rid rid;
  Rid thread;
  bool is_root;
  bool is_edit;
};

std::vector<Post> posts_of(Database& database, Rid thread) {
  std::vector<Post> posts;
  Query query = database.query(
      "SELECT fpid, firt IS NULL, fprev IS NOT NULL FROM forumpost INDEXED BY forumthread WHERE "
      "froot=?1");
  query.bind(1, thread);
  while (query.step()) {
    posts.push_back({query.integer(0), thread, query.integer(1) != 0, query.integer(2) != 0});
  }
  return posts;
}

/// The thread that ROOT belongs to where it is no root itself, and so on.
Rid thread_above(Database& database, Rid root) {
  Query query = database.query("SELECT froot FROM forumpost WHERE fpid=?1");
  while (query.bind(1, root).step() && query.integer(0) != root) {
    root = query.integer(0);
    query.rewind();
  }
  return root;
}

/// The posts of a thread, and of those that take one of these for their root, in the order of a
/// rebuild.
std::vector<Post> family_of(Database& database, RebuildOrder& order, Rid root) {
  std::map<Rid, Post> found;
  std::vector<Rid> rids, threads{root};
  while (!threads.empty()) {
    const std::vector<Post> posts = posts_of(database, threads.back());
    threads.pop_back();
    for (const Post& post : posts) {
      if (!found.emplace(post.rid, post).second) continue;
      rids.push_back(post.rid);
      if (post.rid != post.thread) threads.push_back(post.rid);
    }
  }
  order.sort(rids);
  std::vector<Post> family;
  for (const Rid rid : rids) family.push_back(found.at(rid));
  return family;
}

const char* kind_of(const Post& post, const Structural& artifact) {
  if (post.is_root) return post.is_edit ? "Edit" : "Post";
  if (artifact.text.empty() || artifact.text.front() == '\0') return "Delete reply";
  return post.is_edit ? "Edit reply" : "Reply";
}

}  // namespace

void Forum::add_forum_post(Rid rid, const Structural& post) {
  make_table(work_.database);
  document_links_.link_versions(rid, post);
  events_.touch_search('f', rid);
  const double day = printed_day(work_.database, base::julian_day(*post.date));
  const auto rid_of = [&](std::string_view name) {
    return name.empty() ? 0 : work_.names.need(name);
  };
  const Rid root = post.thread_root.empty() ? rid : work_.names.need(post.thread_root);
  work_.database
      .query(
          "INSERT OR REPLACE INTO forumpost(fpid,froot,fprev,firt,fmtime)"
          " VALUES(?1,?2,nullif(?3,0),nullif(?4,0),?5)")
      .bind(1, rid)
      .bind(2, root)
      .bind(3, post.parents.empty() ? 0 : rid_of(post.parents.front()))
      .bind(4, rid_of(post.in_reply_to))
      .bind(5, day)
      .run();
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

/// What a reply takes for its thread's title where the root is no post of the thread: what follows
/// a colon, if there is one, in what the timeline tells of the root when rebuild comes to the
/// reply.
std::string Forum::title_elsewhere(Rid root, Rid reply) {
  Query query = work_.database.query("SELECT comment FROM event WHERE objid=?1");
  if (!query.bind(1, root).step() || !work_.order.before(root, reply)) return kUnknownTitle;
  std::string comment(query.text(0));
  if (const Manifest artifact = work_.manifests.get(root)) {
    // What it tells of ticket changes it writes last.
    if (artifact->type == StructuralType::kTicketChange) return kUnknownTitle;
    if (artifact->attachment) {
      const Attachments::AttachmentTarget seen =
          attachments_.attachment_target(artifact->attachment->target, reply);
      comment = attachments_.attachment_event(root, *artifact->attachment, seen).comment;
    }
  }
  // No colon counts as one before the text.
  const std::size_t colon = comment.find(':') + 1;
  return colon + 1 < comment.size() ? comment.substr(colon + 1) : std::string();
}

void Forum::refresh_thread(Rid root) {
  const std::vector<Post> posts = family_of(work_.database, work_.order, root);
  std::map<Rid, std::string> titles;
  std::map<Rid, std::vector<Rid>> threads;  // what is there of each
  for (const Post& post : posts) {
    std::string title;
    if (post.is_root) {
      const Manifest artifact = work_.manifests.get(post.rid);
      title = artifact ? artifact->thread_title : "";
      if (title.empty()) title = kNoTitle;
      for (const Rid other : threads[post.thread]) titles[other] = title;
    } else if (const auto above = titles.find(post.thread); above != titles.end()) {
      title = above->second;
    } else {
      title = title_elsewhere(post.thread, post.rid);
    }
    titles[post.rid] = std::move(title);
    threads[post.thread].push_back(post.rid);
  }
  for (const Post& post : posts) {
    const std::string& title = titles[post.rid];
    {
      // Most posts of a thread are there already, and have the right title.
      Query same = work_.database.query(
          "SELECT 1 FROM event WHERE objid=?1 AND type='f'"
          " AND substr(comment,instr(comment,':')) = ': '||?2");
      if (same.bind(1, post.rid).bind(2, title).step()) continue;
    }
    const Manifest artifact = work_.manifests.get(post.rid);
    if (!artifact || artifact->type != StructuralType::kForumPost) continue;
    events_.put_event(post.rid, *artifact,
                      {.type = 'f',
                       .day = printed_day(work_.database, base::julian_day(*artifact->date)),
                       .comment = fmt::format("{}: {}", kind_of(post, *artifact), title)});
  }
}

}  // namespace quarry::repository
