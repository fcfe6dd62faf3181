// Email notifications: fossil's tables `subscriber` and `pending_alert`.
//
//   subscriber      one row per address: the wanted kinds of events (`ssub`, a letter each),
//                   whether to send them immediately or as a daily digest (`sdigest`), whether the
//                   address is confirmed, and its user
//   pending_alert   one row per event (`eventid` is the letter of event.type, then event.objid).
//                   A flag for each kind of email is set when the email has been sent: immediate
//                   email (`sentSep`), digest (`sentDigest`), mail to the moderators (`sentMod`).
//                   The row is deleted when both sentSep and sentDigest are set.
//
// The program that stores an event also adds the event's row to `pending_alert`. Fossil creates the
// tables when email is first set up. If the tables do not exist, no email is sent.
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

/// Whether an email is sent immediately or as part of the daily digest.
enum class AlertTiming { kAtOnce, kDigest };

/// Identifies an event by its row id and the start of its artifact's hash. The row id alone is not
/// enough, because the row ids of removed artifacts are reused.
struct AlertReference {
  char type = 0;  // c check-in, e technote, f post, g tags, t ticket, w wiki
  Rid rid = 0;
  std::string hash;              // the first digits of the artifact's hash
  bool needs_moderator = false;  // only moderators may see the event

  /// Returns the reference as text: "c4413:0123456789", followed by '!' if `needs_moderator` is
  /// set.
  std::string text() const;
  static std::optional<AlertReference> parse(std::string_view text);
};

struct PendingAlert {
  std::string id;  // pending_alert.eventid
  /// The event, or nullopt if the event no longer exists. In that case, no email is sent.
  std::optional<AlertReference> reference;
  /// Whether the event is a new version of a forum post.
  bool is_edit = false;
  /// For a forum post: the authors of the posts that it answers, directly or indirectly.
  std::vector<std::string> answered;
  /// Whether the event is a forum post that answers another one.
  bool is_answer = false;
};

struct AlertMarks {
  std::string id;
  bool sent_at_once = false;
  bool sent_digest = false;
  bool sent_to_moderators = false;
};

/// A subscriber whose address is confirmed, who has not opted out, and whose subscription has not
/// expired.
struct Subscriber {
  std::string code = {};     // upper-case hex; a secret that allows changes of the subscription
  std::string address = {};  // as entered
  std::string letters = {};  // the wanted kinds of events: subscriber.ssub
  std::string user = {};     // login; may be empty
  /// All capabilities of the user, including capabilities inherited from `developer`, `reader`,
  /// `nobody` and `anonymous`.
  std::string capabilities = {};
};

/// Details of a forum post that are not in its timeline entry.
struct AlertPost {
  std::string title;
  std::string reply_to;      // first version of the answered post; empty in a new thread
  std::string sender;        // display name of the author, or the login if it is unknown
  std::string author;        // login, as in the artifact
  std::string text;          // unformatted
  bool is_too_long = false;  // `text` is empty because the post is too long
};

/// The details of an event for an email.
struct AlertEvent {
  AlertReference reference;
  std::string name;     // the hash of the artifact or the id of the ticket, for links
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

  // Use these functions inside a Snapshot or a Receipt. Errors: kIo, kCorrupt.

  /// Returns whether `subscriber` and `pending_alert` exist.
  Result<bool> are_set_up();
  /// Returns whether any events are pending for TIMING.
  Result<bool> has_pending(AlertTiming timing);
  /// Returns at most LIMIT events that have not been sent yet, oldest first.
  Result<std::vector<PendingAlert>> pending(AlertTiming timing, std::size_t limit);
  Result<std::size_t> count_subscribers(AlertTiming timing);
  /// Calls VISIT for each subscriber who wants mail with this TIMING. Stops if VISIT fails, and
  /// returns its error.
  Result<void> visit_subscribers(AlertTiming timing,
                                 const std::function<Result<void>(const Subscriber&)>& visit);
  /// Calls VISIT for each subscriber whose last contact was after day AFTER and no later than day
  /// UNTIL (days since 1970). Skips subscribers who have opted out. Does not fill in the
  /// capabilities.
  Result<void> visit_expiring(std::int64_t after, std::int64_t until,
                              const std::function<Result<void>(const Subscriber&)>& visit);
  /// Returns the details of an event. Returns nullopt if the event no longer exists, or if its row
  /// id now belongs to another artifact. If AS_POST is set, adds the details for an email about a
  /// single post.
  Result<std::optional<AlertEvent>> event(const AlertReference& reference, bool as_post);
  /// Returns at most LIMIT rows of `pending_alert` whose ids come after AFTER, sorted by id.
  Result<std::vector<AlertMarks>> marks(std::size_t limit, std::string_view after = {});

  // Use the functions below inside a Receipt.

  /// Adds the columns that are missing from tables created by early versions of fossil.
  Result<void> upgrade_tables();
  /// Marks ALERTS as sent. Deletes the rows of `pending_alert` for which no more mail has to be
  /// sent.
  Result<void> mark_sent(AlertTiming timing, const std::vector<PendingAlert>& alerts);

 private:
  Repository& repository_;
};

}  // namespace quarry::repository
