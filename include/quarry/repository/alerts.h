// Who is told of what by mail: fossil's tables `subscriber` and `pending_alert`.
//
//   subscriber      one row an address: what it wants (`ssub`, a letter for each kind of event), at
//                   once or once a day (`sdigest`), whether it is confirmed, whose it is
//   pending_alert   one row an event (`eventid`: the letter of event.type, and event.objid) that
//                   somebody is still to be told of: at once (`sentSep`), by the daily digest
//                   (`sentDigest`), or, while it waits for a moderator, the moderators (`sentMod`).
//                   Both sentSep and sentDigest: the row goes.
//
// Rows come with the events, whichever program stores them. Fossil makes the tables when mail is
// first set up; where they are not there, nobody is told of anything.
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

/// Two kinds of mail, each with its own marks of what was sent.
enum class AlertTiming { kAtOnce, kDigest };

/// What somebody is told of. Numbers are used again after an artifact was removed, so the beginning
/// of its name is kept as well.
struct AlertReference {
  char type = 0;  // c check-in, e technote, f post, g tags, t ticket, w wiki
  Rid rid = 0;
  std::string hash;              // the beginning of the artifact's name
  bool needs_moderator = false;  // nobody else may see it yet

  /// "c4413:0123456789", with a '!' behind it where a moderator is needed.
  std::string text() const;
  static std::optional<AlertReference> parse(std::string_view text);
};

struct PendingAlert {
  std::string id;  // pending_alert.eventid
  /// Nothing: the event is there no longer, and nobody is told of it.
  std::optional<AlertReference> reference;
  /// Of a post: it is a new version of another.
  bool is_edit = false;
  /// Of a post: who wrote those that it answers, directly or not.
  std::vector<std::string> answered;
  /// Of a post: it answers another.
  bool is_answer = false;
};

/// A row of pending_alert as it stands.
struct AlertMarks {
  std::string id;
  bool sent_at_once = false;
  bool sent_digest = false;
  bool sent_to_moderators = false;
};

/// Somebody who is to get mail now: confirmed, and neither opted out nor expired.
struct Subscriber {
  std::string code;     // in hexadecimal, upper case: who knows it may change the subscription
  std::string address;  // as it was given
  std::string letters;  // what is wanted: subscriber.ssub
  std::string user;     // login; empty: none
  /// The letters of all that the user may do, with what is lent by `developer` and `reader`, and
  /// with what everybody may.
  std::string capabilities;
};

/// A post, as far as a timeline entry does not tell it.
struct AlertPost {
  std::string title;
  std::string reply_to;  // the artifact that began the post that is answered; empty: a new thread
  std::string sender;    // who wrote it, by name where that is known
  std::string author;    // login, as the artifact has it
  std::string text;      // as it was written
  bool is_too_long = false;  // the text is, and is left out
};

/// What a mail tells of an event.
struct AlertEvent {
  AlertReference reference;
  std::string name;     // what a link leads to: the artifact, or the ticket
  std::string time;     // "YYYY-MM-DD HH:MM:SS", UTC
  std::string comment;  // as the timeline has it
  std::string user;     // login; empty: nobody
  std::string tags;     // symbolic ones, with commas
  std::optional<AlertPost> post;
};

class Alerts {
 public:
  /// REPOSITORY is not owned.
  explicit Alerts(Repository& repository) : repository_(repository) {}

  // Inside a Snapshot or a Receipt; errors of all: kIo, kCorrupt.

  /// Whether the tables are there.
  base::Result<bool> are_kept();
  /// Whether pending() would have something.
  base::Result<bool> has_pending(AlertTiming timing);
  /// At most LIMIT of what nobody was told of yet, the earliest first.
  base::Result<std::vector<PendingAlert>> pending(AlertTiming timing, std::size_t limit);
  base::Result<std::size_t> count_subscribers(AlertTiming timing);
  /// Calls VISIT for everybody who gets mail of TIMING, until it fails.
  base::Result<void> visit_subscribers(
      AlertTiming timing, const std::function<base::Result<void>(const Subscriber&)>& visit);
  /// Calls VISIT for those whose last sign of life was after day AFTER and by day UNTIL (since
  /// 1970), as far as they would like to go on. Their rights are not looked up.
  base::Result<void> visit_expiring(
      std::int64_t after, std::int64_t until,
      const std::function<base::Result<void>(const Subscriber&)>& visit);
  /// Nothing where it is not there any more, or is another artifact's by now. As a post: with what
  /// a mail of its own needs.
  base::Result<std::optional<AlertEvent>> event(const AlertReference& reference, bool as_post);
  /// At most LIMIT rows by id, from the one after AFTER on.
  base::Result<std::vector<AlertMarks>> marks(std::size_t limit, std::string_view after = {});

  // Inside a Receipt.

  /// Adds the columns that fossil's first versions of the tables did not have.
  base::Result<void> bring_up_to_date();
  /// ALERTS count as told; those of which everybody was told go.
  base::Result<void> mark_sent(AlertTiming timing, const std::vector<PendingAlert>& alerts);

 private:
  Repository& repository_;
};

}  // namespace quarry::repository
