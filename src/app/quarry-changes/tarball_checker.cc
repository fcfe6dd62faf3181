#include "tarball_checker.h"

#include <fcntl.h>
#include <fmt/core.h>

#include <utility>

#include "quarry/base/fd.h"

namespace quarry::app {

using base::ErrorCode;
using base::fail;
using base::Result;

namespace {

// Most do not wait for long; of those that do, no more are kept, and not for ever.
constexpr std::size_t kMostKept = 128;
constexpr std::chrono::minutes kKeptFor{10};

}  // namespace

TarballChecker::TarballChecker(changes::TarballLimits limits, changes::Rights rights,
                               std::filesystem::path folder)
    : limits_(limits), rights_(std::move(rights)), folder_(std::move(folder)) {}

/// Keeps CONTENT for whoever lands it, if that is likely to be soon.
void TarballChecker::keep(const changes::ChangeSetName& name,
                          const changes::ChangeSetContent& content) {
  if (kept_.size() >= kMostKept) {
    const auto now = std::chrono::steady_clock::now();
    std::erase_if(kept_, [&](const Kept& each) {
      if (now - each.since < kKeptFor) return !changes::has_content(folder_, each.name);
      changes::drop_content(folder_, each.name);
      return true;
    });
  }
  if (kept_.size() >= kMostKept || !changes::keep_content(content, folder_, name)) return;
  kept_.push_back({.name = name, .since = std::chrono::steady_clock::now()});
}

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
  keep(name, content);
  return meta;
}

}  // namespace quarry::app
