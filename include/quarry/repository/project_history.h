// A project's history for pages: check-ins, branches and tags.
//
// The history is read from indexes of the derived tables, up to the limit that the caller sets.
// Artifacts that are private, shunned or awaiting a moderator are left out.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "quarry/artifact/hash_name.h"
#include "quarry/base/result.h"
#include "quarry/base/time.h"

namespace quarry::repository {

class Repository;

/// The kind of an artifact, for lists and pages.
enum class ArtifactKind {
  kData,  // a file, or an artifact of a kind that is not known yet
  kCheckIn,
  kControl,  // changes tags of other artifacts
  kWiki,
  kTicket,  // a change of a ticket
  kTechnote,
  kForum,
  kAttachment,  // the addition or removal of an attachment
  kCluster,
};

/// An artifact's entry in the timeline.
struct TimelineEntry {
  artifact::HashName name;
  ArtifactKind kind = ArtifactKind::kData;
  base::UnixMillis time;  // displayed time, which tags can change
  std::string user;       // may be empty
  std::string comment;    // in fossil's wiki markup
  std::string branch;     // for a check-in; may be empty
};

/// A branch. The tip of a branch is its leaf with the latest displayed time. (Fossil's tip is the
/// check-in with the latest displayed time. Fossil's tip and ours differ only if a child is dated
/// before its parent.)
struct Branch {
  std::string name;
  artifact::HashName tip;    // the newest leaf
  base::UnixMillis changed;  // the time of the tip
  bool is_closed = false;    // the tip is closed
};

/// A symbolic tag that descendants do not inherit, for example a release.
struct Tag {
  std::string name;
  artifact::HashName target;  // the tagged artifact; if there are several, the last one
};

/// Reads the history of a repository. Use it inside a Snapshot or a Receipt. Every function takes a
/// few microseconds per row.
class ProjectHistory {
 public:
  /// REPOSITORY is not owned.
  explicit ProjectHistory(Repository& repository) : repository_(repository) {}

  // Errors: kIo, kCorrupt.

  /// Returns the newest LIMIT check-ins of the timeline, newest first. Returns fewer if more than
  /// 100,000 other entries of the timeline have to be skipped.
  Result<std::vector<TimelineEntry>> check_ins(std::size_t limit);
  /// Returns at most LIMIT branches, sorted by the time of their last change, newest first. Reads
  /// one row per leaf.
  Result<std::vector<Branch>> branches(std::size_t limit);
  /// Returns at most LIMIT tags, sorted by name.
  Result<std::vector<Tag>> tags(std::size_t limit);

 private:
  Repository& repository_;
};

}  // namespace quarry::repository
