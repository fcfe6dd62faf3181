// What a mail tells of an event.
#include <cctype>

#include "quarry/artifact/structural.h"
#include "quarry/repository/alerts.h"
#include "quarry/repository/repository.h"
#include "repository_state.h"

namespace quarry::repository {
namespace {

// Bytes. A longer one is read on the web.
constexpr std::int64_t kLongestPost = 1 << 20;

/// The name of a person that INFO, which people write of a user, begins with: what is before an
/// address in angle brackets on the first line.
std::string display_name(std::string_view info) {
  const auto is_blank = [](char c) { return std::isspace(static_cast<unsigned char>(c)) != 0; };
  while (!info.empty() && is_blank(info.front())) info.remove_prefix(1);
  const std::size_t end = info.find_first_of("<\n");
  if (end == std::string_view::npos || info[end] != '<') return {};
  info = info.substr(0, end);
  while (!info.empty() && is_blank(info.back())) info.remove_suffix(1);
  return std::string(info);
}

/// The first version of the post that the post RID answers.
std::string answered_post(Database& database, Rid rid) {
  Query query = database.query(
      "WITH RECURSIVE earlier(fpid) AS ("
      " SELECT firt FROM forumpost WHERE fpid=?1"
      " UNION SELECT f.fprev FROM earlier AS e CROSS JOIN forumpost AS f ON f.fpid=e.fpid"
      "  WHERE f.fprev IS NOT NULL)"
      "SELECT b.uuid FROM earlier AS e CROSS JOIN forumpost AS f ON f.fpid=e.fpid"
      " CROSS JOIN blob AS b ON b.rid=f.fpid WHERE f.fprev IS NULL");
  query.bind(1, rid);
  return query.step() ? std::string(query.text(0)) : std::string();
}

std::string title_of(std::string_view comment) {
  const std::size_t colon = comment.find(':');
  if (colon == std::string_view::npos) return std::string(comment.substr(1));
  return std::string(comment.substr(std::min(colon + 2, comment.size())));
}

/// Nothing where the artifact RID, of SIZE bytes, is no post, or cannot be read.
base::Result<std::optional<AlertPost>> read_post(Repository& repository, Rid rid,
                                                 std::int64_t size) {
  using Found = std::optional<AlertPost>;
  Database& database = repository.internals().database;
  Query query = database.query(
      "SELECT e.comment, coalesce(e.euser,e.user), u.info FROM event AS e"
      " JOIN forumpost AS f ON f.fpid=e.objid LEFT JOIN user AS u ON "
      "u.login=coalesce(e.euser,e.user)"
      " WHERE e.objid=?1");
  if (!query.bind(1, rid).step()) return Found{};
  AlertPost post;
  if (!query.text(0).empty()) post.title = title_of(query.text(0));
  post.author = query.text(1);
  post.sender = display_name(query.text(2));
  if (post.sender.empty()) post.sender = post.author;
  post.reply_to = answered_post(database, rid);
  post.is_too_long = size > kLongestPost;
  if (post.is_too_long) return post;
  QUARRY_TRY_ASSIGN(const std::string content, repository.content(rid));
  const auto artifact = artifact::parse_structural(content);
  if (!artifact || artifact->type != artifact::StructuralType::kForumPost) return Found{};
  post.author = artifact->user;
  post.text = artifact->text;
  return post;
}

}  // namespace

base::Result<std::optional<AlertEvent>> Alerts::event(const AlertReference& reference,
                                                      bool as_post) {
  using Found = std::optional<AlertEvent>;
  Repository::State& state = repository_.internals();
  return guarded(state.path, [&]() -> base::Result<Found> {
    Query query = state.database.query(
        "SELECT b.uuid, CASE WHEN e.type='t' THEN (SELECT substr(tagname,5) FROM tag"
        "  WHERE tagid=e.tagid AND tagname LIKE 'tkt-%') ELSE b.uuid END, datetime(e.mtime),"
        " coalesce(e.ecomment,e.comment,''), coalesce(e.euser,e.user,''),"
        " (SELECT group_concat(substr(tagname,5),', ') FROM tagxref CROSS JOIN tag USING(tagid)"
        "  WHERE tagxref.rid=b.rid AND tagxref.tagtype>0 AND tagname GLOB 'sym-*'), b.size"
        " FROM event AS e JOIN blob AS b ON b.rid=e.objid WHERE e.objid=?1");
    query.bind(1, reference.rid);
    if (!query.step() || !query.text(0).starts_with(reference.hash)) return Found{};
    AlertEvent event{.reference = reference,
                     .name = std::string(query.text(1)),
                     .time = std::string(query.text(2)),
                     .comment = std::string(query.text(3)),
                     .user = std::string(query.text(4)),
                     .tags = std::string(query.text(5)),
                     .post = std::nullopt};
    if (!as_post) return event;
    QUARRY_TRY_ASSIGN(event.post, read_post(repository_, reference.rid, query.integer(6)));
    return event.post ? Found(std::move(event)) : Found{};
  });
}

}  // namespace quarry::repository
