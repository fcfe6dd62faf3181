// Forum threads: the first post (its root), replies, and edits of both, each an artifact.
//
// Every row of `event` shows the title of the thread. In fossil each version of the root that comes
// gives its title to all posts that are there, whatever its date; a reply that comes takes the
// root's, and "Unknown" where the root is not there. So the titles are those that the posts get in
// the order of a rebuild.

#include <fmt/core.h>

#include <algorithm>
#include <map>

#include "backlinks.h"
#include "derivation.h"
#include "printed_day.h"

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
  bool is_root;
  bool is_edit;
};

std::vector<Post> posts_of(Database& database, RebuildOrder& order, Rid root) {
  std::map<Rid, Post> found;
  std::vector<Rid> rids;
  {
    Query query = database.query(
        "SELECT fpid, firt IS NULL, fprev IS NOT NULL FROM forumpost"
        " WHERE froot=?1");
    query.bind(1, root);
    while (query.step()) {
      const Rid rid = query.integer(0);
      rids.push_back(rid);
      found[rid] = {rid, query.integer(1) != 0, query.integer(2) != 0};
    }
  }
  order.sort(rids);
  std::vector<Post> posts;
  for (const Rid rid : rids) posts.push_back(found[rid]);
  return posts;
}

/// What a reply takes for its thread's title where the root is no post of the thread.
std::string title_elsewhere(Database& database, RebuildOrder& order, Rid root, Rid reply) {
  Query query =
      database.query("SELECT substr(comment,instr(comment,':')+2) FROM event WHERE objid=?1");
  if (!query.bind(1, root).step() || !order.before(root, reply)) return kUnknownTitle;
  return std::string(query.text(0));
}

const char* kind_of(const Post& post, const Structural& artifact) {
  if (post.is_root) return post.is_edit ? "Edit" : "Post";
  if (artifact.text.empty() || artifact.text.front() == '\0') return "Delete reply";
  return post.is_edit ? "Edit reply" : "Reply";
}

}  // namespace

void Derivation::add_forum_post(Rid rid, const Structural& post) {
  make_table(c_.database);
  link_versions(rid, post);
  touch_search('f', rid);
  const double day = printed_day(c_.database, base::julian_day(*post.date));
  const auto rid_of = [&](std::string_view name) { return name.empty() ? 0 : c_.names.need(name); };
  const Rid root = post.thread_root.empty() ? rid : c_.names.need(post.thread_root);
  c_.database
      .query(
          "INSERT OR REPLACE INTO forumpost(fpid,froot,fprev,firt,fmtime)"
          " VALUES(?1,?2,nullif(?3,0),nullif(?4,0),?5)")
      .bind(1, rid)
      .bind(2, root)
      .bind(3, post.parents.empty() ? 0 : rid_of(post.parents.front()))
      .bind(4, rid_of(post.in_reply_to))
      .bind(5, day)
      .run();
  stale_threads_.insert(root);
  if (post.text.empty()) return;
  const auto mimetype = post.mimetype.empty() ? std::nullopt : std::optional(post.mimetype);
  write_backlinks(c_.database, BacklinkSource::kForum, rid,
                  text_links(post.text, markup_of(mimetype)), day);
}

void Derivation::refresh_thread(Rid root) {
  const std::vector<Post> posts = posts_of(c_.database, order_, root);
  std::vector<std::string> titles;
  std::optional<std::size_t> root_at;
  for (const Post& post : posts) {
    if (post.rid == root) root_at = titles.size();
    if (post.is_root) {
      const Manifest artifact = c_.manifests.get(post.rid);
      std::string title(artifact ? artifact->thread_title : "");
      if (title.empty()) title = kNoTitle;
      std::fill(titles.begin(), titles.end(), title);
      titles.push_back(title);
    } else if (root_at && *root_at < titles.size()) {
      titles.push_back(titles[*root_at]);
    } else {
      titles.push_back(title_elsewhere(c_.database, order_, root, post.rid));
    }
  }
  for (std::size_t i = 0; i < posts.size(); ++i) {
    {
      // Most posts of a thread are there already, and have the right title.
      Query same = c_.database.query(
          "SELECT 1 FROM event WHERE objid=?1 AND type='f'"
          " AND substr(comment,instr(comment,':')) = ': '||?2");
      if (same.bind(1, posts[i].rid).bind(2, titles[i]).step()) continue;
    }
    const Manifest artifact = c_.manifests.get(posts[i].rid);
    if (!artifact || artifact->type != StructuralType::kForumPost) continue;
    put_event(posts[i].rid, *artifact,
              {.type = 'f',
               .day = printed_day(c_.database, base::julian_day(*artifact->date)),
               .comment = fmt::format("{}: {}", kind_of(posts[i], *artifact), titles[i])});
  }
}

}  // namespace quarry::repository
