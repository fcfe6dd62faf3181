// Finds the base of a change set: the check-in on which its changes are based. A branch or tag is
// looked up as it was at the submission, because the tip of the branch can move before the change
// set is checked. Changes that land after the submission are merged with the change set, and are
// not overwritten.
//
//   no ##base         the tip of the target branch at the submission
//   ##base BRANCH     the tip of this branch at the submission
//   ##base TAG        the last check-in with this tag at the submission
//   ##base HASH       this check-in
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "quarry/base/result.h"
#include "quarry/changes/change_set.h"
#include "quarry/repository/repository.h"

namespace quarry::changes {

class BaseFinder {
 public:
  /// Opens REPOSITORY when it is needed, and closes it in the destructor.
  explicit BaseFinder(std::filesystem::path repository) : path_(std::move(repository)) {}

  /// Returns the full hash of the base of META, or an empty string for a rollback. RECEIPT was the
  /// last receipt at the submission. If RECEIPT is not known, branches and tags are looked up as
  /// they are now. Errors: kInvalid (the base or the branch does not exist, the branch is closed,
  /// or a merged check-in is already part of the base), kIo (the repository cannot be read now).
  Result<std::string> find(const Meta& meta, std::optional<std::int64_t> receipt);

 private:
  Result<void> open();

  std::filesystem::path path_;
  std::unique_ptr<repository::Repository> repository_;
};

}  // namespace quarry::changes
