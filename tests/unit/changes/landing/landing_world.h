// A repository in which change sets land on trunk.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "quarry/changes/landing.h"
#include "world.h"

namespace quarry::changes::test {

using artifact::HashName;
using repository::test::faults;

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
  /// Makes the order for change set NUMBER, which rolls back the change sets LANDED.
  LandingOrder rollback(int number, const std::vector<int>& landed);
  /// Lands ORDER alone and returns its outcome.
  LandingOutcome land(const LandingOrder& order);
  /// Lands ORDER, requires success, and returns the check-in.
  HashName landed(const LandingOrder& order);
  /// Requires that ORDER is refused and that the repository is unchanged. Returns the refusal.
  Refusal refused(const LandingOrder& order);

  HashName tip(const std::string& branch = "trunk");
  /// Returns the stored files of CHECK_IN.
  FilesOf files(const HashName& check_in);
  FilesOf files() { return files(tip()); }
  std::string manifest(const HashName& check_in);
  /// Commits a child of PARENT directly, as a client does.
  HashName commit(const HashName& parent, const FilesOf& files,
                  const std::vector<artifact::CheckInText::Tag>& tags = {});

  Lander lander;

 private:
  std::string content(const HashName& name);
};

ChangeSetId id_of(int number);
/// Returns COUNT lines. Line number CHANGED, if it exists, is replaced with WITH.
std::string lines(int count, int changed = -1, const std::string& with = "changed");

}  // namespace quarry::changes::test
