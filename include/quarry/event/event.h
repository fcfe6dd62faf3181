// Events of a repository for external systems: a common head, a record for each type of event, and
// the JSON form in which they are stored and delivered. quarry-events(7) documents the members.
//
//   {"version": 1, "type": "artifact.check-in", "id": "PROJECTCODE/artifact/HASH",
//    "time": "2026-03-04T05:06:07.123Z", "project": {"code": …, "name": …}, "repository": …,
//    "url": …, "artifact": {…}}
//
// Producers, such as the backoffice, append events to the courier's stream. The courier reads the
// events and delivers the same bytes.
//
// All text is UTF-8; invalid bytes are replaced by U+FFFD. Text that is too long is truncated and
// marked. A Hook and a RepositoryWebhook are never truncated, because a truncated command or URL
// would mean something else.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "quarry/base/result.h"
#include "quarry/base/time.h"

namespace quarry::event {

inline constexpr int kVersion = 1;
/// Maximum size of Head::key in bytes. Equal to the stream's limit, spool::kMaxKey.
inline constexpr std::size_t kMaxKey = 255;
/// Maximum size in bytes of a name, such as the name of a user, branch or file.
inline constexpr std::size_t kMaxName = 1024;
/// Maximum size of any other text in bytes.
inline constexpr std::size_t kMaxText = std::size_t{64} << 10;
/// Maximum number of names, or of records, in a list.
inline constexpr std::size_t kMaxNames = 1000;
/// Maximum size in bytes of a comment in a Commit.
inline constexpr std::size_t kMaxComment = 4096;
/// Maximum size of Hook::input in bytes.
inline constexpr std::size_t kMaxInput = std::size_t{6} << 20;
/// Maximum size of an event as JSON in bytes.
inline constexpr std::size_t kMaxMessage = std::size_t{16} << 20;

struct Head {
  /// Identifies the event, so that receivers can recognize duplicates. At most kMaxKey bytes.
  std::string key = {};
  base::UnixMillis time = {};  // time at which the producer noticed the event
  std::string project_code = {};
  std::string project_name = {};
  std::string repository = {};  // name of the repository on the server, not a local path
  std::string url = {};         // public URL; may be empty

  friend bool operator==(const Head&, const Head&) = default;
};

enum class ArtifactKind : std::uint8_t {
  kCheckIn,
  kWiki,
  kTicket,
  kTechnote,
  kForum,
  kControl,  // tags
  kAttachment,
};

/// "artifact.check-in" and similar types: an artifact has been received.
struct Artifact {
  ArtifactKind kind = ArtifactKind::kCheckIn;
  std::string hash = {};
  std::string user = {};
  base::UnixMillis time = {};  // time in the artifact itself
  std::string title = {};      // title of a wiki page, ticket or thread, if known
  std::string comment = {};
  std::string branch = {};
  std::vector<std::string> tags = {};
  std::uint64_t size = 0;  // bytes of the artifact
  std::string url = {};    // of its page; may be empty

  friend bool operator==(const Artifact&, const Artifact&) = default;
};

/// A renamed file.
struct Rename {
  std::string from = {};
  std::string to = {};

  friend bool operator==(const Rename&, const Rename&) = default;
};

/// A check-in in a push, with the files that differ from its first parent.
struct Commit {
  std::string hash = {};
  std::string branch = {};
  std::vector<std::string> parents = {};
  std::string user = {};
  base::UnixMillis time = {};
  std::string comment = {};
  std::string url = {};     // of its page; may be empty
  std::uint64_t files = 0;  // number of changed files, including those that are not listed
  std::vector<std::string> added = {};
  std::vector<std::string> modified = {};
  std::vector<std::string> removed = {};
  std::vector<Rename> renamed = {};

  friend bool operator==(const Commit&, const Commit&) = default;
};

/// A branch or tag that a push has moved. `before` is null if the branch or tag is new, and `after`
/// is null if it no longer exists.
struct Ref {
  std::string kind = {};  // "branch" or "tag"
  std::string name = {};
  std::optional<std::string> before = std::nullopt;
  std::optional<std::string> after = std::nullopt;

  friend bool operator==(const Ref&, const Ref&) = default;
};

/// An artifact in a push that is neither a check-in nor a file.
struct OtherArtifact {
  std::string kind = {};  // see name_of(ArtifactKind)
  std::string hash = {};
  std::string title = {};
  std::string user = {};
  std::string url = {};

  friend bool operator==(const OtherArtifact&, const OtherArtifact&) = default;
};

/// "push": a client has pushed these artifacts in one request.
struct Push {
  std::string login = {};
  std::string address = {};
  std::uint64_t artifacts = 0;
  std::uint64_t check_ins = 0;
  std::vector<std::string> branches = {};
  std::vector<std::string> kinds = {};  // names of the artifacts' kinds, without duplicates
  std::vector<Commit> commits = {};     // oldest first; the newest ones if there are too many
  std::vector<Ref> refs = {};
  std::vector<OtherArtifact> others = {};
  std::uint64_t others_total = 0;  // including those that are not listed
  bool truncated = false;          // whether any list is incomplete

  friend bool operator==(const Push&, const Push&) = default;
};

/// "change-set": a change set has moved to another state.
struct ChangeSet {
  std::string id = {};
  std::string branch = {};
  std::string submitter = {};  // login
  std::string state = {};
  std::string from = {};  // previous state; "" for a new change set
  std::string detail = {};

  friend bool operator==(const ChangeSet&, const ChangeSet&) = default;
};

/// "notice": informs the submitter that a change set has not landed. A notice contains the
/// submitter's address, so it is delivered only to destinations that send mail to submitters.
struct Notice {
  std::string address = {};
  ChangeSet change_set = {};

  friend bool operator==(const Notice&, const Notice&) = default;
};

/// "backoffice.failure": a background job has failed.
struct BackofficeFailure {
  std::string job = {};
  std::string message = {};

  friend bool operator==(const BackofficeFailure&, const BackofficeFailure&) = default;
};

/// "security": an administrator should know about this event. Wildcards do not match this type.
struct Security {
  std::string what = {};
  std::string user = {};
  std::string address = {};
  std::string detail = {};

  friend bool operator==(const Security&, const Security&) = default;
};

/// "test": sent by `quarry courier test` to a single destination.
struct Test {
  std::string destination = {};
  std::string message = {};

  friend bool operator==(const Test&, const Test&) = default;
};

/// "replay": sent by `quarry courier replay`. The courier handles this event itself: it puts the
/// dead letters of the destination back into the queue.
struct Replay {
  std::string destination = {};

  friend bool operator==(const Replay&, const Replay&) = default;
};

/// "redeliver": sent by `quarry courier redeliver`. The courier handles this event itself: it
/// redelivers an event that it has kept for the destination.
struct Redeliver {
  std::string destination = {};
  std::uint64_t id = 0;

  friend bool operator==(const Redeliver&, const Redeliver&) = default;
};

/// "repository-webhook": an event for a webhook that the repository itself contains. Such an event
/// is never delivered to a configured destination.
struct RepositoryWebhook {
  std::string name = {};
  std::string url = {};  // at most kMaxText bytes
  std::string format = {};
  std::string secret = {};
  std::string event = {};  // JSON of the event; at most kMaxInput bytes

  friend bool operator==(const RepositoryWebhook&, const RepositoryWebhook&) = default;
};

/// "hook": a command of the repository has to be run. Such an event is never delivered to a
/// configured destination.
struct Hook {
  std::string command = {};     // as stored by `fossil hook add`; at most kMaxText bytes
  std::string repository = {};  // absolute path of the file; at most kMaxName bytes
  std::string fossil = {};      // the program that replaces %F; at most kMaxName bytes
  std::string input = {};       // standard input of the command; at most kMaxInput bytes

  friend bool operator==(const Hook&, const Hook&) = default;
};

using Record = std::variant<Artifact, Push, ChangeSet, Notice, BackofficeFailure, Security, Test,
                            Hook, Replay, Redeliver, RepositoryWebhook>;

struct Event {
  Head head = {};
  Record record = {};

  friend bool operator==(const Event&, const Event&) = default;
};

/// Returns "check-in", "wiki", "ticket", "technote", "forum", "control" or "attachment".
std::string_view name_of(ArtifactKind kind);
/// Returns the value of the member `type`: words joined by dots.
std::string_view type_of(const Event& event);
/// Returns whether PATTERN, a name or a prefix followed by *, matches NAME.
bool covers(std::string_view pattern, std::string_view name);
/// Like covers(), for an event type TYPE. However, the type `security` is matched only by the
/// pattern `security`, not by a pattern with a *.
bool covers_type(std::string_view pattern, std::string_view type);
bool covers_any_type(std::string_view pattern);

/// Returns TEXT, truncated to LIMIT bytes if it is longer. A truncated text ends in "…", which
/// counts towards LIMIT. Characters are never split.
std::string cut(std::string_view text, std::size_t limit);

/// Returns EVENT as JSON, on one line without a newline.
std::string to_message(const Event& event);
/// Parses an event. Unknown members are ignored. Missing members are empty, but the head's version,
/// type, id and time are required. Errors: kInvalid (not an event, or an unknown version), kLimit
/// (a member is too long).
Result<Event> parse(std::string_view text);

}  // namespace quarry::event
