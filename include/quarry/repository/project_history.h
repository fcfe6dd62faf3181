// A project's history for pages: check-ins, branches and tags.
//
// It is read from indexes of the derived tables, up to the limit that the caller sets. Private and
// shunned artifacts and those that await a moderator are left out.
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

/// The kind of an artifact, as shown to people.
enum class ArtifactKind {
  kData,  // the content of a file, or not known yet
  kCheckIn,
  kControl,  // changes tags of other artifacts
  kWiki,
  kTicket,  // a change of a ticket
  kTechnote,
  kForum,
  kAttachment,  // also records the removal of an attachment
  kCluster,
};

/// An artifact's entry in the timeline.
struct TimelineEntry {
  artifact::HashName name;
  ArtifactKind kind = ArtifactKind::kData;
  base::UnixMillis time;  // as displayed; tags may have changed it
  std::string user;       // may be empty
  std::string comment;    // in fossil's wiki markup
  std::string branch;     // for a check-in; may be empty
};

/// A branch. Its tip is its newest leaf by displayed time. (Fossil uses the newest check-in, which
/// is another one only if a child is dated before its parent.)
struct Branch {
  std::string name;
  artifact::HashName tip;    // the newest leaf
  base::UnixMillis changed;  // the time of the tip
  bool is_closed = false;    // the tip is closed, as in fossil's list of branches
};

/// A symbolic tag that descendants do not inherit, for example a release.
struct Tag {
  std::string name;
  artifact::HashName target;  // the artifact that was tagged last
};

/// All functions take a few microseconds per row. Use inside a Snapshot or a Receipt.
class ProjectHistory {
 public:
  /// REPOSITORY is not owned.
  explicit ProjectHistory(Repository& repository) : repository_(repository) {}

  // All functions may return kIo or kCorrupt.

  /// The newest LIMIT check-ins of the timeline, newest first. Returns fewer if it would have to
  /// skip more than 100,000 other entries.
  base::Result<std::vector<TimelineEntry>> check_ins(std::size_t limit);
  /// At most LIMIT branches, sorted by the time of their last change, newest first. Reads one row
  /// per leaf.
  base::Result<std::vector<Branch>> branches(std::size_t limit);
  /// At most LIMIT tags, sorted by name.
  base::Result<std::vector<Tag>> tags(std::size_t limit);

 private:
  Repository& repository_;
};

}  // namespace quarry::repository
