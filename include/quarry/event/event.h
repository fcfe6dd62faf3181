// Events of a repository for external systems: a common head, a record for each type of event, and
// the JSON in which they are stored and delivered. quarry-events(7) documents the members.
//
//   {"version": 1, "type": "artifact.check-in", "id": "PROJECTCODE/artifact/HASH",
//    "time": "2026-03-04T05:06:07.123Z", "project": {"code": …, "name": …}, "repository": …,
//    "url": …, "artifact": {…}}
//
// Producers, such as the backoffice, append events to the courier's stream; the courier reads them
// and delivers the same bytes.
//
// All text is UTF-8: other bytes become U+FFFD. Text that is too long is truncated and marked, except
// in a Hook, where truncation would change the command.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "quarry/base/result.h"
#include "quarry/base/time.h"

namespace quarry::event {

inline constexpr int kVersion = 1;
/// Bytes of Head::key; the same as the stream's limit (spool::kMaxKey).
inline constexpr std::size_t kMaxKey = 255;
/// Bytes of a name of a user, branch, tag, file and so on.
inline constexpr std::size_t kMaxName = 1024;
/// Bytes of any other text.
inline constexpr std::size_t kMaxText = std::size_t{64} << 10;
/// Names in a list.
inline constexpr std::size_t kMaxNames = 1000;
/// Bytes of Hook::input.
inline constexpr std::size_t kMaxInput = std::size_t{6} << 20;
/// Bytes of an event as JSON.
inline constexpr std::size_t kMaxMessage = std::size_t{16} << 20;

struct Head {
  /// Identifies the event, so that a receiver can recognize duplicates. At most kMaxKey bytes.
  std::string key = {};
  base::UnixMillis time = {};  // when the event was noticed
  std::string project_code = {};
  std::string project_name = {};
  std::string repository = {};  // the name under which it is served, not a local path
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

/// "artifact.check-in" and so on: an artifact that was received.
struct Artifact {
  ArtifactKind kind = ArtifactKind::kCheckIn;
  std::string hash = {};
  std::string user = {};
  base::UnixMillis time = {};  // the artifact's own
  std::string title = {};      // of a wiki page, ticket or thread, if known
  std::string comment = {};
  std::string branch = {};
  std::vector<std::string> tags = {};
  std::uint64_t size = 0;  // bytes of the artifact

  friend bool operator==(const Artifact&, const Artifact&) = default;
};

/// "push": the artifacts that a client has pushed in one session.
struct Push {
  std::string login = {};
  std::string address = {};
  std::uint64_t artifacts = 0;
  std::uint64_t check_ins = 0;
  std::vector<std::string> branches = {};

  friend bool operator==(const Push&, const Push&) = default;
};

/// "change-set": a change set has moved to another stage of the queue.
struct ChangeSet {
  std::string id = {};
  std::string branch = {};
  std::string submitter = {};  // login
  std::string stage = {};
  std::string from = {};  // the previous stage; "": the change set is new
  std::string detail = {};

  friend bool operator==(const ChangeSet&, const ChangeSet&) = default;
};

/// "notice": notifies the submitter that a change set has not landed. Only delivered to destinations
/// that write to submitters, because it contains the submitter's address.
struct Notice {
  std::string address = {};
  ChangeSet change_set = {};

  friend bool operator==(const Notice&, const Notice&) = default;
};

/// "backoffice.failure"
struct BackofficeFailure {
  std::string job = {};
  std::string message = {};

  friend bool operator==(const BackofficeFailure&, const BackofficeFailure&) = default;
};

/// "security": an event that an administrator should know about.
struct Security {
  std::string what = {};
  std::string user = {};
  std::string address = {};
  std::string detail = {};

  friend bool operator==(const Security&, const Security&) = default;
};

/// "test": from `quarry courier test`, for a single destination.
struct Test {
  std::string destination = {};
  std::string message = {};

  friend bool operator==(const Test&, const Test&) = default;
};

/// "hook": a command of the repository to run. Never delivered to a configured destination.
struct Hook {
  std::string command = {};     // as stored by `fossil hook add`; at most kMaxText bytes
  std::string repository = {};  // the file's absolute path; at most kMaxName
  std::string fossil = {};      // the program that replaces %F; at most kMaxName
  std::string input = {};       // standard input; at most kMaxInput

  friend bool operator==(const Hook&, const Hook&) = default;
};

using Record =
    std::variant<Artifact, Push, ChangeSet, Notice, BackofficeFailure, Security, Test, Hook>;

struct Event {
  Head head = {};
  Record record = {};

  friend bool operator==(const Event&, const Event&) = default;
};

/// "check-in", "wiki", "ticket", "technote", "forum", "control", "attachment".
std::string_view name_of(ArtifactKind kind);
/// The value of the member `type`: words joined by dots.
std::string_view type_of(const Event& event);
/// Whether PATTERN, a type or a prefix followed by *, matches TYPE.
bool covers(std::string_view pattern, std::string_view type);
/// Whether PATTERN matches any existing type.
bool covers_any(std::string_view pattern);

/// TEXT, truncated to LIMIT bytes including a final "…" if it is longer. Never splits a character.
std::string cut(std::string_view text, std::size_t limit);

/// EVENT as JSON, on one line without a newline.
std::string to_message(const Event& event);
/// Parses an event. Unknown members are ignored; missing ones are empty, except for the head's
/// version, type, id and time, which are required. Errors: kInvalid (not an event, or an unknown
/// version), kLimit (a member is too long).
base::Result<Event> parse(std::string_view text);

}  // namespace quarry::event
