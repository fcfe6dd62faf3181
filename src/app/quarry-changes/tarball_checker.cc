#include "tarball_checker.h"

#include <fcntl.h>
#include <fmt/core.h>

#include <algorithm>
#include <map>
#include <string>
#include <utility>

#include "quarry/base/fd.h"
#include "quarry/changes/base_finder.h"
#include "quarry/changes/change_set_diff.h"
#include "quarry/changes/merge.h"
#include "quarry/repository/repository.h"

namespace quarry::app {

namespace {

// Limits on extracted tarballs that are kept until their change sets land.
constexpr std::size_t kMaxKept = 128;
constexpr std::chrono::minutes kKeptFor{10};
// Maximum size of a tarball that is read in a group. The limit bounds the size of a group, because
// all its tarballs are extracted at the same time.
constexpr std::uint64_t kMaxTogether = std::uint64_t{1} << 20;

constexpr std::size_t kMaxOmitted = 4'096;  // maximum bytes in a diff's list of omitted files

}  // namespace

TarballChecker::TarballChecker(changes::TarballLimits limits, changes::Rights rights,
                               std::filesystem::path repository, std::filesystem::path folder,
                               std::shared_ptr<changes::TarballReaders> readers)
    : limits_(limits),
      rights_(std::move(rights)),
      repository_(std::move(repository)),
      folder_(std::move(folder)),
      readers_(std::move(readers)) {}

/// Keeps CONTENT for the process that lands the change set. Does nothing if the limits are reached.
void TarballChecker::keep(const changes::ChangeSetName& name,
                          const changes::ChangeSetContent& content) {
  if (kept_.size() >= kMaxKept) {
    const auto now = std::chrono::steady_clock::now();
    std::erase_if(kept_, [&](const Kept& each) {
      if (now - each.since < kKeptFor) return !changes::has_content(folder_, each.name);
      changes::drop_content(folder_, each.name);
      return true;
    });
  }
  if (kept_.size() >= kMaxKept || !changes::keep_content(content, folder_, name)) return;
  kept_.push_back({.name = name, .since = std::chrono::steady_clock::now()});
}

Result<changes::Meta> TarballChecker::check(const Case& given) {
  const base::Fd file(::open(given.tarball.c_str(), O_RDONLY | O_CLOEXEC));
  if (!file) return fail_errno(given.tarball.string());
  QUARRY_TRY_ASSIGN(const auto content, readers_->read(file.get(), limits_, folder_));
  return judge(given, content);
}

Result<changes::Meta> TarballChecker::judge(const Case& given,
                                            const changes::ChangeSetContent& content) {
  const changes::Meta& meta = content.meta();
  if (meta.type != given.name.type) {
    // Refuse, for example, a rollback that was submitted as a change.
    return fail(ErrorCode::kInvalid, "##movetype is {}, but the change set was submitted as {}",
                word_of(meta.type), word_of(given.name.type));
  }
  const changes::Actor actor{given.submission.submitter, given.submission.capabilities};
  if (const auto refused = changes::objection(rights_, meta, actor)) {
    return fail(ErrorCode::kDenied, *refused);
  }
  keep(given.name, content);
  return meta;
}

/// Sets METAS for the elements of CASES that can be read in one group. All CASES are from the same
/// submitter. Large and invalid tarballs are left to check().
void TarballChecker::check_together(std::span<const Case* const> cases,
                                    std::span<std::optional<Result<changes::Meta>>* const> metas) {
  std::vector<base::Fd> files;
  std::vector<int> numbers;
  for (const Case* each : cases) {
    base::Fd file(::open(each->tarball.c_str(), O_RDONLY | O_CLOEXEC));
    if (!file) return;
    numbers.push_back(file.get());
    files.push_back(std::move(file));
  }
  changes::TarballLimits limits = limits_;
  limits.tarball = std::min(limits.tarball, kMaxTogether);
  limits.expanded = std::min(limits.expanded, 4 * kMaxTogether);
  const auto read = readers_->read_together(numbers, limits, folder_);
  if (!read) return;
  for (std::size_t i = 0; i < cases.size(); ++i) {
    const auto& content = (*read)[i];
    if (content) *metas[i] = judge(*cases[i], *content);
  }
}

std::vector<changes::Checker::Checked> TarballChecker::check_all(std::span<const Case> cases) {
  std::vector<std::optional<Result<changes::Meta>>> found(cases.size());
  std::map<std::string, std::vector<std::size_t>> by_submitter;
  for (std::size_t i = 0; i < cases.size(); ++i) {
    const std::string& submitter = cases[i].submission.submitter;
    // Do not group the tarballs of these logins, which several people use: a hostile tarball can
    // falsify the results of other tarballs in its group.
    if (submitter.empty() || submitter == "nobody" || submitter == "anonymous") continue;
    by_submitter[submitter].push_back(i);
  }
  for (const auto& [submitter, indexes] : by_submitter) {
    if (indexes.size() < 2 || indexes.size() > changes::TarballReaders::kMax) continue;
    std::vector<const Case*> theirs;
    std::vector<std::optional<Result<changes::Meta>>*> metas;
    for (const std::size_t index : indexes) {
      theirs.push_back(&cases[index]);
      metas.push_back(&found[index]);
    }
    check_together(theirs, metas);
  }
  std::vector<Checked> all;
  changes::BaseFinder bases(repository_);
  for (std::size_t i = 0; i < cases.size(); ++i) {
    auto meta = found[i] ? std::move(*found[i]) : check(cases[i]);
    if (!meta) {
      all.push_back({.meta = {}, .verdict = std::unexpected(std::move(meta).error())});
      continue;
    }
    auto base = bases.find(*meta, cases[i].submission.receipt);
    Checked& checked = all.emplace_back(Checked{.meta = std::move(*meta), .verdict = {}});
    if (base) {
      checked.meta.base = std::move(*base);
    } else {
      checked.verdict = std::unexpected(std::move(base).error());
    }
  }
  return all;
}

Result<std::string> TarballChecker::diff(const changes::Job& job,
                                         const std::filesystem::path& tarball) {
  const base::Fd file(::open(tarball.c_str(), O_RDONLY | O_CLOEXEC));
  if (!file) return fail_errno(tarball.string());
  QUARRY_TRY_ASSIGN(const auto content, readers_->read(file.get(), limits_, folder_));
  std::vector<changes::ChangedFile> files;
  std::string omitted;
  std::size_t unlisted = 0;
  std::uint64_t size = 0;
  for (const changes::SubmittedFile& each : content.files()) {
    if (each.size > changes::kMaxDiffed || size + each.size > changes::kMaxDiff) {
      if (omitted.size() > kMaxOmitted) {
        ++unlisted;
      } else {
        omitted += fmt::format("{}: {} bytes, not shown\n", each.name, each.size);
      }
      continue;
    }
    size += each.size;
    QUARRY_TRY_ASSIGN(std::string text, content.read(each));
    files.push_back(
        {each.name, std::make_shared<const std::string>(std::move(text)), each.permission});
  }
  if (unlisted > 0) {
    omitted += fmt::format("and {} more {} not shown\n", unlisted,
                           unlisted == 1 ? "file is" : "files are");
  }
  for (std::string& name : content.deletions()) {
    files.push_back({.name = std::move(name), .content = nullptr, .permission = 0});
  }
  QUARRY_TRY_ASSIGN(const auto repository, repository::Repository::open(repository_));
  auto text = changes::diff_of(*repository, job, files);
  if (text) return *text + (omitted.empty() ? "" : "\n") + omitted;
  const ErrorCode code = text.error().code;
  const bool is_theirs =
      code == ErrorCode::kNotFound || code == ErrorCode::kConflict || code == ErrorCode::kInvalid;
  if (is_theirs) return "The diff cannot be computed: " + text.error().message + "\n";
  return text;
}

}  // namespace quarry::app
