#include "tarball_checker.h"

#include <fcntl.h>
#include <fmt/core.h>

#include <utility>

#include "quarry/base/fd.h"

namespace quarry::app {

using base::ErrorCode;
using base::fail;
using base::Result;

TarballChecker::TarballChecker(changes::TarballLimits limits, changes::Rights rights,
                               std::filesystem::path folder)
    : limits_(limits), rights_(std::move(rights)), folder_(std::move(folder)) {}

Result<changes::Meta> TarballChecker::check(const changes::ChangeSetName& name,
                                            const std::filesystem::path& tarball,
                                            const changes::Submission& submission) {
  const base::Fd file(::open(tarball.c_str(), O_RDONLY | O_CLOEXEC));
  if (!file) return base::fail_errno(tarball.string());
  QUARRY_TRY_ASSIGN(const auto content, readers_.read(file.get(), limits_, folder_));
  const changes::Meta& meta = content.meta();
  if (meta.type != name.type) {
    // Else a rollback, say, would come in under the name of a change.
    return fail(ErrorCode::kInvalid, fmt::format("##movetype: {}, but it was submitted as {}",
                                                 word_of(meta.type), word_of(name.type)));
  }
  const changes::Actor actor{submission.submitter, submission.capabilities};
  if (const auto refused = changes::objection(rights_, meta, actor)) {
    return fail(ErrorCode::kDenied, *refused);
  }
  return meta;
}

}  // namespace quarry::app
