// The details of events for emails.
#include <algorithm>
#include <cctype>

#include "post_links.h"
#include "quarry/artifact/structural.h"
#include "quarry/repository/alerts.h"
#include "quarry/repository/repository.h"
#include "repository_state.h"

namespace quarry::repository {
namespace {

// In bytes. For a longer post, an email has only a link.
constexpr std::int64_t kLongestPost = 1 << 20;
// In characters. Longer texts are truncated in an email.
constexpr std::int64_t kLongestComment = 100'000;
constexpr std::int64_t kLongestTitle = 1000;
constexpr std::int64_t kLongestName = 300;
constexpr std::size_t kMaxTags = 1000;
// In bytes.
constexpr std::size_t kMaxTagText = 10'000;

/// Returns the display name in INFO (user.info): the text before an address in angle brackets on
/// the first line.
std::string display_name(std::string_view info) {
  const auto is_blank = [](char c) { return std::isspace(static_cast<unsigned char>(c)) != 0; };
  while (!info.empty() && is_blank(info.front())) info.remove_prefix(1);
  const std::size_t end = info.find_first_of("<\n");
  if (end == std::string_view::npos || info[end] != '<') return {};
  info = info.substr(0, end);
  while (!info.empty() && is_blank(info.back())) info.remove_suffix(1);
  return std::string(info);
}

/// Returns the hash of the first version of the post that the post RID answers.
std::string answered_post(RepositoryState& state, Rid rid) {
  Rid post = links_of_post(state.database, rid).answered;
  for (int versions = 0; versions < kMaxThread; ++versions) {
    const PostLinks links = links_of_post(state.database, post);
    if (!links.is_there) return {};
    if (links.earlier == 0) return state.names.hash_of(post);
    post = links.earlier;
  }
  return {};
}

std::string title_of(std::string_view comment) {
  const std::size_t colon = comment.find(':');
  if (colon == std::string_view::npos) return std::string(comment.substr(1));
  return std::string(comment.substr(std::min(colon + 2, comment.size())));
}

/// Reads the post RID, which is SIZE bytes long. Returns nullopt if the artifact is not a post or
/// cannot be read.
Result<std::optional<AlertPost>> read_alert_post(Repository& repository, Rid rid,
                                                 std::int64_t size) {
  using Found = std::optional<AlertPost>;
  Database& database = repository.internals().database;
  Query query = database.query(
      "SELECT substr(comment,1,?2), substr(coalesce(euser,user),1,?3) FROM event"
      " WHERE objid=?1 AND EXISTS(SELECT 1 FROM forumpost WHERE fpid=?1)",
      rid, kLongestTitle, kLongestName);
  if (!query.step()) return Found{};
  AlertPost post;
  if (!query.text(0).empty()) post.title = title_of(query.text(0));
  post.author = query.text(1);
  Query user = database.query("SELECT substr(info,1,?2) FROM user WHERE login=?1", post.author,
                              kLongestName);
  if (user.step()) post.sender = display_name(user.text(0));
  if (post.sender.empty()) post.sender = post.author;
  post.reply_to = answered_post(repository.internals(), rid);
  post.is_too_long = size > kLongestPost;
  if (post.is_too_long) return post;
  QUARRY_TRY_ASSIGN(const std::string content, repository.content(rid));
  const auto artifact = artifact::parse_structural(content);
  if (!artifact || artifact->type != artifact::StructuralType::kForumPost) return Found{};
  post.author = artifact->user;
  post.text = artifact->text;
  return post;
}

/// Returns the symbolic tags of the artifact RID, separated by commas.
std::string joined_tags(Names& names, Rid rid) {
  std::string joined;
  for (const std::string& tag : names.symbolic_tags(rid, kMaxTags)) {
    if (joined.size() >= kMaxTagText) break;
    if (!joined.empty()) joined += ", ";
    joined += tag;
  }
  return joined;
}

/// Returns the id of the ticket whose changes have the tag TAG.
std::string ticket_of_tag(Database& database, std::int64_t tag) {
  return database.first_text(
      "SELECT substr(tagname,5) FROM tag WHERE tagid=?1 AND tagname GLOB 'tkt-*'", tag);
}

}  // namespace

Result<std::optional<AlertEvent>> Alerts::event(const AlertReference& reference, bool as_post) {
  using Found = std::optional<AlertEvent>;
  return guarded(repository_.internals(), [&](auto& state) -> Result<Found> {
    Query blob = state.database.query("SELECT uuid, size FROM blob WHERE rid=?1", reference.rid);
    if (!blob.step() || !blob.text(0).starts_with(reference.hash)) return Found{};
    Query query = state.database.query(
        "SELECT datetime(mtime), substr(coalesce(ecomment,comment,''),1,?2),"
        " substr(coalesce(euser,user,''),1,?3), type, tagid FROM event WHERE objid=?1",
        reference.rid, kLongestComment, kLongestName);
    if (!query.step()) return Found{};
    AlertEvent event{.reference = reference,
                     .name = std::string(blob.text(0)),
                     .time = std::string(query.text(0)),
                     .comment = std::string(query.text(1)),
                     .user = std::string(query.text(2)),
                     .tags = joined_tags(state.names, reference.rid),
                     .post = std::nullopt};
    if (query.text(3) == "t") event.name = ticket_of_tag(state.database, query.integer(4));
    if (!as_post) return event;
    QUARRY_TRY_ASSIGN(event.post, read_alert_post(repository_, reference.rid, blob.integer(1)));
    return event.post ? Found(std::move(event)) : Found{};
  });
}

}  // namespace quarry::repository
