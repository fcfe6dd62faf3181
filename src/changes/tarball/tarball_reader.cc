// Checks the entries of a tarball together, and compares them with its meta file.
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include <algorithm>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "quarry/base/escape.h"
#include "quarry/changes/tarball.h"
#include "tar_reader.h"
#include "utf8_locale.h"

namespace quarry::changes {
namespace {

struct NamedEntry {
  std::string_view name;
  bool is_folder = false;
};

/// Compares names so that the contents of a folder directly follow the folder.
bool comes_before(const NamedEntry& a, const NamedEntry& b) {
  const auto rank = [](char c) { return c == '/' ? 0 : static_cast<unsigned char>(c) + 1; };
  return std::ranges::lexicographical_compare(a.name, b.name, {}, rank, rank);
}

bool is_below(std::string_view name, std::string_view folder) {
  return name.size() > folder.size() && name.starts_with(folder) && name[folder.size()] == '/';
}

Result<void> check_names(const TarballEntries& entries) {
  std::vector<NamedEntry> named;
  named.reserve(entries.files.size() + entries.folders.size());
  for (const SubmittedFile& file : entries.files) named.push_back({file.name, false});
  for (const std::string& folder : entries.folders) named.push_back({folder, true});
  for (const NamedEntry& each : named) QUARRY_TRY(check_file_name(each.name));
  std::ranges::sort(named, comes_before);
  for (std::size_t i = 1; i < named.size(); ++i) {
    const NamedEntry& first = named[i - 1];
    const NamedEntry& second = named[i];
    const bool are_same = first.name == second.name;
    if (are_same && first.is_folder && second.is_folder) continue;
    const std::string shown = base::printable(first.name, 120);
    if (are_same && first.is_folder == second.is_folder) {
      return fail(ErrorCode::kInvalid, "\"{}\" is in the tarball twice", shown);
    }
    if (are_same || (!first.is_folder && is_below(second.name, first.name))) {
      return fail(ErrorCode::kInvalid, "\"{}\" is both a file and a folder", shown);
    }
  }
  return {};
}

/// Checks that the names in NAMED are valid, and that NAMED contains every file in FILES. NAMED
/// must be sorted.
Result<void> check_against(const std::vector<std::string>& named,
                           const std::vector<SubmittedFile>& files) {
  for (const std::string& name : named) {
    if (auto good = check_file_name(name); !good) {
      return fail(good.error().code, "##files: " + good.error().message);
    }
  }
  for (const SubmittedFile& file : files) {
    if (std::ranges::binary_search(named, file.name)) continue;
    return fail(ErrorCode::kInvalid,
                "lroot/{} is in the tarball, but not in ##files of its meta file",
                base::printable(file.name, 120));
  }
  return {};
}

Result<void> check_links(const ChangeSetContent& content) {
  for (const SubmittedFile& file : content.files()) {
    if (file.permission != 'l') continue;
    QUARRY_TRY_ASSIGN(const std::string target, content.read(file));
    QUARRY_TRY(check_link_target(file.name, target));
  }
  return {};
}

std::vector<std::string> sorted(std::vector<std::string> names) {
  std::ranges::sort(names);
  return names;
}

}  // namespace

Result<base::Fd> make_contents_file(const std::filesystem::path& folder) {
  base::Fd file(::open(folder.c_str(), O_TMPFILE | O_RDWR | O_CLOEXEC, 0600));
  if (file) return file;
  // Create a file with a name and delete the name, because some file systems do not support unnamed
  // files.
  std::string name = (folder / "contents-XXXXXX").string();
  file.reset(::mkostemp(name.data(), O_CLOEXEC));
  if (!file) return fail_errno("cannot create a temporary file in " + folder.string());
  ::unlink(name.c_str());
  return file;
}

Result<ChangeSetContent> checked_content(TarballEntries entries, base::Fd contents) {
  if (!entries.has_meta)
    return fail(ErrorCode::kInvalid, "the tarball does not contain a file called meta");
  QUARRY_TRY(check_names(entries));
  auto meta = Meta::parse(entries.meta);
  if (!meta) return fail(meta.error().code, "meta: " + meta.error().message);
  std::ranges::sort(entries.files, {}, &SubmittedFile::name);
  QUARRY_TRY(check_against(sorted(meta->files), entries.files));
  ChangeSetContent content(std::move(*meta), std::move(entries.files), std::move(contents));
  QUARRY_TRY(check_links(content));
  return content;
}

Result<ChangeSetContent> read_tarball(int tarball, const TarballLimits& limits,
                                      const std::filesystem::path& folder) {
  QUARRY_TRY_ASSIGN(auto contents, make_contents_file(folder));
  const Utf8Locale locale;
  QUARRY_TRY_ASSIGN(auto entries, read_entries(tarball, limits, contents.get()));
  return checked_content(std::move(entries), std::move(contents));
}

std::vector<std::string> ChangeSetContent::deletions() const {
  std::vector<std::string> names;
  for (const std::string& name : meta_.files) {
    if (!std::ranges::binary_search(files_, name, {}, &SubmittedFile::name)) names.push_back(name);
  }
  return names;
}

Result<std::string> ChangeSetContent::read(const SubmittedFile& file) const {
  std::string content(file.size, '\0');
  QUARRY_TRY(read_at(contents_.get(), content, file.offset));
  return content;
}

}  // namespace quarry::changes
