// A repository in which change sets land on trunk.
#pragma once

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "quarry/changes/landing.h"
#include "world.h"

namespace quarry::changes::test {

/// A file's content, and its permission if that is not 0.
struct FileOf {
  std::string content;
  char permission = 0;
  friend bool operator==(const FileOf&, const FileOf&) = default;
};
using FilesOf = std::map<std::string, FileOf>;

class LandingWorld : public repository::test::World {
 public:
  explicit LandingWorld(const LandingOptions& options = {}) : lander(*repository, options) {}

  /// Change set NUMBER, which adds ADDED and deletes REMOVED.
  LandingOrder order(int number, const FilesOf& added,
                     const std::vector<std::string>& removed = {});
  /// Lands ORDER alone and returns its outcome.
  LandingOutcome land(const LandingOrder& order);
  /// Lands ORDER, which must succeed, and returns the check-in.
  artifact::HashName landed(const LandingOrder& order);
  /// Tries to land ORDER, which must be refused and change nothing.
  Refusal refused(const LandingOrder& order);

  artifact::HashName tip(const std::string& branch = "trunk");
  /// The files of CHECK_IN as stored.
  FilesOf files(const artifact::HashName& check_in);
  FilesOf files() { return files(tip()); }
  std::string manifest(const artifact::HashName& check_in);
  /// Commits to PARENT directly, without landing.
  artifact::HashName commit(const artifact::HashName& parent, const FilesOf& files,
                            const std::vector<artifact::CheckInText::Tag>& tags = {});

  Lander lander;

 private:
  std::string content(const artifact::HashName& name);
};

ChangeSetId id_of(int number);
/// A text of COUNT lines, in which the line number CHANGED is replaced with WITH.
std::string lines(int count, int changed = -1, const std::string& with = "changed");

}  // namespace quarry::changes::test
