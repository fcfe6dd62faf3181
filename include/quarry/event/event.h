// What is told to the outside about a repository: a record for each kind of thing that happens, with
// a head that all have in common, and the JSON that they are carried and delivered as. What the
// members mean to a reader of that JSON says quarry-events(7).
//
//   {"version": 1, "type": "artifact.check-in", "id": "PROJECTCODE/artifact/HASH",
//    "time": "2026-03-04T05:06:07.123Z", "project": {"code": …, "name": …}, "repository": …,
//    "url": …, "artifact": {…}}
//
// Made by those to whom it happens (the backoffice, say), put into the courier's stream, and read by
// the courier, which delivers the same bytes.
//
// All text is UTF-8: other bytes become U+FFFD. What is too long is cut, with a mark at its end; but
// nothing of a Hook is, which would be another command then.
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
/// Bytes of Head::key; the stream's own bound (spool::kMostKey).
inline constexpr std::size_t kMostKey = 255;
/// Bytes of a name: of a user, branch, tag, file or the like.
inline constexpr std::size_t kMostName = 1024;
/// Bytes of any other text.
inline constexpr std::size_t kMostText = std::size_t{64} << 10;
/// Names in a list.
inline constexpr std::size_t kMostNames = 1000;
/// Bytes of Hook::input.
inline constexpr std::size_t kMostInput = std::size_t{6} << 20;
/// Bytes of an event as JSON.
inline constexpr std::size_t kMostMessage = std::size_t{16} << 20;

struct Head {
  /// The same for the same event, whoever tells it again, and for no other: by it who gets one twice
  /// can tell. Of kMostKey bytes at most.
  std::string key = {};
  base::UnixMillis time = {};  // when it was seen to have happened
  std::string project_code = {};
  std::string project_name = {};
  std::string repository = {};  // as it is served; not a path of this machine
  std::string url = {};         // where people find it; may be empty

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
  std::string title = {};      // of a wiki page, ticket or thread, where that is known
  std::string comment = {};
  std::string branch = {};
  std::vector<std::string> tags = {};
  std::uint64_t size = 0;  // bytes of the artifact

  friend bool operator==(const Artifact&, const Artifact&) = default;
};

/// "push": what somebody has brought at once.
struct Push {
  std::string login = {};
  std::string address = {};
  std::uint64_t artifacts = 0;
  std::uint64_t check_ins = 0;
  std::vector<std::string> branches = {};

  friend bool operator==(const Push&, const Push&) = default;
};

/// "change-set": one has come from one stage of the queue to another.
struct ChangeSet {
  std::string id = {};
  std::string branch = {};
  std::string submitter = {};  // his login
  std::string stage = {};
  std::string from = {};  // the stage before; "": it is new
  std::string detail = {};

  friend bool operator==(const ChangeSet&, const ChangeSet&) = default;
};

/// "notice": a change set has not landed, told to who submitted it. Given to nobody but destinations
/// that write to submitters: it has his address, which is nobody else's business.
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

/// "security": what an administrator should know of.
struct Security {
  std::string what = {};
  std::string user = {};
  std::string address = {};
  std::string detail = {};

  friend bool operator==(const Security&, const Security&) = default;
};

/// "test": from `quarry courier test`, for one destination alone.
struct Test {
  std::string destination = {};
  std::string message = {};

  friend bool operator==(const Test&, const Test&) = default;
};

/// "hook": a command of the repository that is to be run. Never given to a destination of the
/// configuration.
struct Hook {
  std::string command = {};     // as `fossil hook add` has stored it; kMostText bytes at most
  std::string repository = {};  // the file's absolute path; kMostName
  std::string fossil = {};      // the program that %F stands for; kMostName
  std::string input = {};       // for its standard input; kMostInput

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
/// As the member `type` has it. Several words are joined by dots.
std::string_view type_of(const Event& event);
/// Whether PATTERN, a type or the beginning of some with a * behind it, covers TYPE.
bool covers(std::string_view pattern, std::string_view type);
/// Whether PATTERN covers any type that there is.
bool covers_any(std::string_view pattern);

/// TEXT, or what LIMIT bytes have room for of it with "…" at the end, and no character halved.
std::string cut(std::string_view text, std::size_t limit);

/// EVENT as JSON, on one line without its end.
std::string to_message(const Event& event);
/// The event that TEXT is. Members that are not known are passed over; those that are missing are
/// empty, but for the head's version, type, id and time. Errors: kInvalid (it is none, or of a
/// version that is not known), kLimit (something is longer than it may be).
base::Result<Event> parse(std::string_view text);

}  // namespace quarry::event
