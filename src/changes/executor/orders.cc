#include "orders.h"

#include <fcntl.h>
#include <fmt/core.h>

#include <memory>
#include <string>
#include <utility>

#include "quarry/base/fd.h"

namespace quarry::changes {
namespace {

base::Result<ChangeSetContent> open_tarball(TarballReaders& readers, const ChangeSetName& name,
                                            const std::filesystem::path& tarball,
                                            const ExecutorOptions& options) {
  // From the cache, if it was kept when the tarball was checked.
  auto kept = take_content(options.temporary, name, options.tarball);
  if (kept) return kept;
  const base::Fd file(::open(tarball.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW));
  if (!file) return base::fail_errno(fmt::format("cannot read {}", tarball.string()));
  return readers.read(file.get(), options.tarball, options.temporary);
}

}  // namespace

LandingOrder order_of(const Job& job) {
  return {.id = job.name.id,
          .branch = job.meta.target,
          .comment = job.meta.comment,
          .author = job.meta.author.empty() ? job.submitter : job.meta.author,
          .submitter = job.submitter,
          .address = job.address,
          .base = job.meta.base,
          .files = {},
          .takes_back = {}};
}

base::Result<LandingOrder> order_of(const Job& job, const std::filesystem::path& tarball,
                                    TarballReaders& readers, const ExecutorOptions& options) {
  QUARRY_TRY_ASSIGN(const ChangeSetContent content,
                    open_tarball(readers, job.name, tarball, options));
  LandingOrder order = order_of(job);
  for (const SubmittedFile& file : content.files()) {
    QUARRY_TRY_ASSIGN(std::string text, content.read(file));
    order.files.push_back(
        {file.name, std::make_shared<const std::string>(std::move(text)), file.permission});
  }
  for (std::string& name : content.deletions()) {
    order.files.push_back({.name = std::move(name), .content = nullptr, .permission = 0});
  }
  return order;
}

}  // namespace quarry::changes
