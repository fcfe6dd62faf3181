// What pages show of a project's history: its timeline, branches, tags, and the files of a
// check-in.
//
// Read from the derived tables, along their indexes, and bounded by what the caller asks for. What
// is private or shunned, or waits for a moderator, is left out.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "quarry/artifact/hash_name.h"
#include "quarry/base/result.h"
#include "quarry/base/time.h"

namespace quarry::repository {

class Repository;

/// What an artifact is to people.
enum class ArtifactKind {
  kData,  // the content of a file, or nothing that is known yet
  kCheckIn,
  kControl,  // sets tags on other artifacts
  kWiki,
  kTicket,  // a change of one
  kTechnote,
  kForum,
  kAttachment,  // or the removal of one
  kCluster,
};

/// What the timeline tells of an artifact.
struct TimelineEntry {
  artifact::HashName name;
  ArtifactKind kind = ArtifactKind::kData;
  base::UnixMillis time;  // as it is shown: tags may have moved it
  std::string user;       // empty: nobody
  std::string comment;    // in fossil's wiki markup
  std::string branch;     // of a check-in; empty: on none
};

/// A line of development. It ends with its newest leaf by the times that are shown: fossil goes by
/// the newest check-in, which is another one only where a child is dated before its parent.
struct Branch {
  std::string name;
  artifact::HashName tip;    // the newest leaf
  base::UnixMillis changed;  // the time of the tip
  bool is_closed = false;    // the tip is, as fossil lists it
  /// The newest leaf that is not closed: what work goes on from, and what Receipt::require_tip()
  /// goes by. Nothing: all leaves are closed.
  std::optional<artifact::HashName> open_tip;
};

/// A symbolic name that does not go on to descendants: a release, say.
struct Tag {
  std::string name;
  artifact::HashName target;  // the artifact that got it last
};

/// A file of a check-in.
struct CheckInFile {
  std::string name;
  enum class Permission { kNormal, kExecutable, kLink } permission = Permission::kNormal;
  artifact::HashName hash;
  std::optional<std::int64_t> size;  // bytes; nothing: the content is not here
};

/// Everything but files() costs a few microseconds a row. Inside a Snapshot or a Receipt.
class ProjectHistory {
 public:
  /// REPOSITORY is not owned.
  explicit ProjectHistory(Repository& repository) : repository_(repository) {}

  enum class Which { kEverything, kCheckIns };

  // Errors of all: kIo, kCorrupt.

  /// The newest LIMIT entries, newest first. Fewer also where they lie among 100,000 others.
  base::Result<std::vector<TimelineEntry>> timeline(std::size_t limit, Which which);
  /// At most LIMIT branches, the last changed first. Reads as many rows as there are leaves.
  base::Result<std::vector<Branch>> branches(std::size_t limit);
  /// At most LIMIT tags by name, from the one that comes after AFTER on.
  base::Result<std::vector<Tag>> tags(std::size_t limit, std::string_view after = {});
  /// At most LIMIT files of CHECK_IN by name, from the one that comes after AFTER on. The manifest
  /// is expanded for it, and that which it is based on. Error: kNotFound (no check-in, or not for
  /// everybody).
  base::Result<std::vector<CheckInFile>> files(const artifact::HashName& check_in,
                                               std::size_t limit, std::string_view after = {});

 private:
  Repository& repository_;
};

}  // namespace quarry::repository
