// A repository on whose trunk change sets land.
#pragma once

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "quarry/changes/landing.h"
#include "world.h"

namespace quarry::changes::test {

/// Content, and permission where it is not 0.
struct FileOf {
  std::string content;
  char permission = 0;
  friend bool operator==(const FileOf&, const FileOf&) = default;
};
using FilesOf = std::map<std::string, FileOf>;

class LandingWorld : public repository::test::World {
 public:
  explicit LandingWorld(const LandingOptions& options = {}) : lander(*repository, options) {}

  /// Change set NUMBER: it has ADDED, and removes REMOVED.
  LandingOrder order(int number, const FilesOf& added,
                     const std::vector<std::string>& removed = {});
  /// The only outcome of landing ORDER.
  LandingOutcome land(const LandingOrder& order);
  /// The check-in that ORDER became; it must land.
  artifact::HashName landed(const LandingOrder& order);
  /// Why it did not; it must be refused, and nothing may have changed.
  Refusal refused(const LandingOrder& order);

  artifact::HashName tip(const std::string& branch = "trunk");
  /// The files of CHECK_IN, as what is stored says.
  FilesOf files(const artifact::HashName& check_in);
  FilesOf files() { return files(tip()); }
  std::string manifest(const artifact::HashName& check_in);
  /// A check-in on PARENT that nobody landed.
  artifact::HashName commit(const artifact::HashName& parent, const FilesOf& files,
                            const std::vector<artifact::CheckInText::Tag>& tags = {});

  Lander lander;

 private:
  std::string content(const artifact::HashName& name);
};

ChangeSetId id_of(int number);
/// A text of COUNT lines; line CHANGED is WITH.
std::string lines(int count, int changed = -1, const std::string& with = "changed");

}  // namespace quarry::changes::test
