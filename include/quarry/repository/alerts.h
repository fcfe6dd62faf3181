// Email notifications: fossil's tables `subscriber` and `pending_alert`.
//
//   subscriber      one row per address: the wanted kinds of events (`ssub`, a letter each),
//                   whether to send them immediately or as a daily digest (`sdigest`), whether the
//                   address is confirmed, and its user
//   pending_alert   one row per event (`eventid` is the letter of event.type, then event.objid) that
//                   has not been sent yet: immediately (`sentSep`), in the daily digest
//                   (`sentDigest`), or, while it awaits a moderator, to the moderators (`sentMod`).
//                   The row is deleted when both sentSep and sentDigest are set.
//
// Whichever program stores an event also adds its row. Fossil creates the tables when email is
// first set up; without them no mail is sent.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "quarry/base/result.h"
#include "quarry/repository/rid.h"

namespace quarry::repository {

class Repository;

/// Two kinds of mail. Each has its own `sent` column.
enum class AlertTiming { kAtOnce, kDigest };

/// An event. Row ids are reused after an artifact is removed, so it also holds the start of the
/// hash.
struct AlertReference {
  char type = 0;  // c check-in, e technote, f post, g tags, t ticket, w wiki
  Rid rid = 0;
  std::string hash;              // the first digits of the artifact's hash
  bool needs_moderator = false;  // Only moderators may see the event so far.

  /// "c4413:0123456789", followed by '!' if a moderator is needed.
  std::string text() const;
  static std::optional<AlertReference> parse(std::string_view text);
};

struct PendingAlert {
  std::string id;  // pending_alert.eventid
  /// nullopt if the event no longer exists; then no mail is sent for it.
  std::optional<AlertReference> reference;
  /// Whether a post is a new version of another post.
  bool is_edit = false;
  /// The authors of the posts that a post answers, directly or indirectly.
  std::vector<std::string> answered;
  /// Whether a post answers another post.
  bool is_answer = false;
};

/// A row of pending_alert.
struct AlertMarks {
  std::string id;
  bool sent_at_once = false;
  bool sent_digest = false;
  bool sent_to_moderators = false;
};

/// A subscriber who receives mail: confirmed, and neither opted out nor expired.
struct Subscriber {
  std::string code = {};     // upper-case hex; anyone who knows it may change the subscription
  std::string address = {};  // as entered
  std::string letters = {};  // letters of the kinds of events that the subscriber wants:
                             // subscriber.ssub
  std::string user = {};     // login; may be empty
  /// All capabilities of the user, including those inherited from `developer`, `reader`, `nobody`
  /// and `anonymous`.
  std::string capabilities = {};
};

/// Details of a forum post that are not in its timeline entry.
struct AlertPost {
  std::string title;
  std::string reply_to;      // the first version of the post that it answers; empty in a new thread
  std::string sender;        // the author's display name; the login if the display name is unknown
  std::string author;        // login, as in the artifact
  std::string text;          // unformatted
  bool is_too_long = false;  // the text is too long and was left out
};

/// The details of an event for a mail.
struct AlertEvent {
  AlertReference reference;
  std::string name;     // target of a link to the event: the artifact or the ticket
  std::string time;     // "YYYY-MM-DD HH:MM:SS", UTC
  std::string comment;  // as in the timeline
  std::string user;     // login; may be empty
  std::string tags;     // symbolic tags, separated by commas
  std::optional<AlertPost> post;
};

class Alerts {
 public:
  /// REPOSITORY is not owned.
  explicit Alerts(Repository& repository) : repository_(repository) {}

  // Use these functions inside a Snapshot or a Receipt. All of them may return kIo or kCorrupt.

  /// Whether the tables exist.
  base::Result<bool> are_set_up();
  /// Whether pending() would return any events.
  base::Result<bool> has_pending(AlertTiming timing);
  /// At most LIMIT events that have not been sent yet, oldest first.
  base::Result<std::vector<PendingAlert>> pending(AlertTiming timing, std::size_t limit);
  base::Result<std::size_t> count_subscribers(AlertTiming timing);
  /// Calls VISIT for each subscriber with this timing. Stops if VISIT fails.
  base::Result<void> visit_subscribers(
      AlertTiming timing, const std::function<base::Result<void>(const Subscriber&)>& visit);
  /// Calls VISIT for each subscriber whose last contact was after day AFTER and no later than day
  /// UNTIL (days since 1970), unless they have opted out. Does not fill in their capabilities.
  base::Result<void> visit_expiring(
      std::int64_t after, std::int64_t until,
      const std::function<base::Result<void>(const Subscriber&)>& visit);
  /// nullopt if the event no longer exists, or its row id now belongs to another artifact. AS_POST
  /// adds the details for a mail about this post alone.
  base::Result<std::optional<AlertEvent>> event(const AlertReference& reference, bool as_post);
  /// At most LIMIT rows, sorted by id, starting after the id AFTER.
  base::Result<std::vector<AlertMarks>> marks(std::size_t limit, std::string_view after = {});

  // Use the functions below inside a Receipt.

  /// Adds the columns that are missing from tables created by early versions of fossil.
  base::Result<void> upgrade_tables();
  /// Marks ALERTS as sent, and deletes those for which no more mail has to be sent.
  base::Result<void> mark_sent(AlertTiming timing, const std::vector<PendingAlert>& alerts);

 private:
  Repository& repository_;
};

}  // namespace quarry::repository
