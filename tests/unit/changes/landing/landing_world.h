// A repository in which change sets land on trunk.
#pragma once

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "quarry/changes/landing.h"
#include "world.h"

namespace quarry::changes::test {

/// A file's content and permission. The permission is 0 for a regular file.
struct FileOf {
  std::string content;
  char permission = 0;
  friend bool operator==(const FileOf&, const FileOf&) = default;
};
using FilesOf = std::map<std::string, FileOf>;

class LandingWorld : public repository::test::World {
 public:
  explicit LandingWorld(const LandingOptions& options = {}) : lander(*repository, options) {}

  /// Makes the order for change set NUMBER, which adds ADDED and deletes REMOVED.
  LandingOrder order(int number, const FilesOf& added,
                     const std::vector<std::string>& removed = {});
  /// Lands ORDER alone and returns its outcome.
  LandingOutcome land(const LandingOrder& order);
  /// Lands ORDER, requires success, and returns the check-in.
  artifact::HashName landed(const LandingOrder& order);
  /// Requires that ORDER is refused and that the repository is unchanged. Returns the refusal.
  Refusal refused(const LandingOrder& order);

  artifact::HashName tip(const std::string& branch = "trunk");
  /// Returns the stored files of CHECK_IN.
  FilesOf files(const artifact::HashName& check_in);
  FilesOf files() { return files(tip()); }
  std::string manifest(const artifact::HashName& check_in);
  /// Commits a child of PARENT directly, as a client does.
  artifact::HashName commit(const artifact::HashName& parent, const FilesOf& files,
                            const std::vector<artifact::CheckInText::Tag>& tags = {});

  Lander lander;

 private:
  std::string content(const artifact::HashName& name);
};

ChangeSetId id_of(int number);
/// Returns COUNT lines. Line number CHANGED, if it exists, is replaced with WITH.
std::string lines(int count, int changed = -1, const std::string& with = "changed");

}  // namespace quarry::changes::test
