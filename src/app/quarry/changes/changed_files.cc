#include "changed_files.h"

#include <sys/stat.h>

#include <fstream>
#include <iterator>
#include <map>
#include <ranges>
#include <system_error>
#include <utility>

#include "quarry/artifact/hash_name.h"
#include "quarry/base/blanks.h"
#include "quarry/base/command.h"
#include "quarry/base/escape.h"
#include "quarry/base/hex.h"

namespace quarry::app {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kMaxOutput = std::size_t{64} << 20;

// A value of vfile.chnged in the check-out database: a symbolic link was replaced by a file that
// contains the link's target.
constexpr std::string_view kUnlinked = "9";
// Values of vmerge.id in the check-out database.
constexpr std::string_view kCherrypicked = "-1";
constexpr std::string_view kBackedOut = "-2";

/// Lines of fields that are separated by '|'.
using Rows = std::vector<std::vector<std::string>>;

/// Runs `fossil ARGUMENTS` in FOLDER and returns its output. Also used to read the check-out
/// database, because its schema depends on the version of fossil.
Result<std::string> ask_fossil(const fs::path& folder, std::vector<std::string> arguments) {
  arguments.insert(arguments.begin(), "fossil");
  auto ended = base::run_command(
      {.words = arguments, .folder = folder.string(), .max_output = kMaxOutput + 1});
  if (!ended) {
    return fail(ended.error().code, "cannot run fossil to find the changes: {}",
                ended.error().message);
  }
  const std::string& text = ended->output;
  if (text.size() > kMaxOutput) {
    return fail(ErrorCode::kLimit, "the output of fossil is longer than {} bytes", kMaxOutput);
  }
  if (ended->is_success()) return std::move(ended->output);
  return fail(ErrorCode::kInvalid, "fossil {}: {}", arguments[1],
              base::printable(text.substr(0, text.find('\n'))));
}

/// Runs SQL in the check-out at ROOT. SQL must join the fields of a row with '|' into a single
/// column, because fossil's own separator of columns depends on its version.
Result<Rows> ask_database(const fs::path& root, const std::string& sql) {
  QUARRY_TRY_ASSIGN(const std::string text, ask_fossil(root, {"sql", "--readonly", "-list", sql}));
  Rows rows;
  for (const auto line : std::views::split(text, '\n')) {
    rows.emplace_back();
    for (const auto field : std::views::split(line, '|')) {
      rows.back().emplace_back(field.begin(), field.end());
    }
  }
  return rows;
}

Result<std::string> unhex(const std::string& digits) {
  auto bytes = base::from_hex(digits);
  if (bytes) return std::move(*bytes);
  return fail(ErrorCode::kInvalid, "unexpected output of fossil sql: \"{}\"",
              base::printable(digits));
}

fs::path root_of(fs::path folder) {
  std::error_code error;
  for (;; folder = folder.parent_path()) {
    for (const char* name : {".fslckout", "_FOSSIL_"}) {
      if (fs::is_regular_file(folder / name, error)) return folder;
    }
    if (folder == folder.root_path()) return {};
  }
}

/// Runs `fossil changes`, which scans the files and updates the check-out database.
Result<void> scan_files(const Checkout& checkout) {
  QUARRY_TRY_ASSIGN(const std::string text, ask_fossil(checkout.root, {"changes", "--classify"}));
  for (const auto each : std::views::split(text, '\n')) {
    const std::string_view line(each.begin(), each.end());
    for (const char* word : {"MISSING ", "CONFLICT ", "NOT_A_FILE "}) {
      if (!line.starts_with(word)) continue;
      return fail(ErrorCode::kInvalid, "fossil reports \"{}\": resolve this before you submit",
                  base::printable(line));
    }
  }
  return {};
}

/// Returns whether CHECKOUT has real symbolic links (the setting allow-symlinks).
Result<bool> has_symbolic_links(const Checkout& checkout) {
  QUARRY_TRY_ASSIGN(const std::string text,
                    ask_fossil(checkout.root, {"settings", "--exact", "allow-symlinks"}));
  const std::string_view line =
      base::trim_blanks(std::string_view(text).substr(0, text.find('\n')));
  const std::string_view value = line.substr(line.find_last_of(' ') + 1);
  return value == "on" || value == "1" || value == "yes" || value == "true";
}

/// Returns the name that the file PATH has in the repository. ROOT is the root of the check-out.
Result<std::string> name_below(const fs::path& root, const fs::path& path) {
  std::string name = path.lexically_relative(root).generic_string();
  while (name.ends_with('/')) name.pop_back();
  const bool is_below = !name.empty() && name != ".." && !name.starts_with("../");
  if (is_below) return name;
  return fail(ErrorCode::kInvalid, "{} is not below {}", path.string(), root.string());
}

}  // namespace

Result<std::optional<Checkout>> checkout_at(const fs::path& folder) {
  const fs::path root = root_of(fs::absolute(folder));
  if (root.empty()) return std::optional<Checkout>();
  QUARRY_TRY_ASSIGN(const Rows rows,
                    ask_database(root,
                                 "SELECT name || '|' || hex(value) FROM vvar WHERE name IN "
                                 "('checkout-hash', 'repository')"));
  std::map<std::string, std::string> values;
  for (const auto& row : rows) {
    if (row.size() != 2) continue;
    QUARRY_TRY_ASSIGN(values[row[0]], unhex(row[1]));
  }
  if (values["checkout-hash"].empty() || values["repository"].empty()) {
    return fail(ErrorCode::kInvalid, "{} is not a fossil check-out", root.string());
  }
  return Checkout{.root = root,
                  .repository = (root / values["repository"]).lexically_normal(),
                  .check_in = values["checkout-hash"]};
}

Result<std::vector<ChangedFile>> changes_in(const Checkout& checkout) {
  QUARRY_TRY(scan_files(checkout));
  // If a merge only sets a file's execute bit, it changes the column `isexe`, but not `chnged`. So
  // the query tests both columns.
  QUARRY_TRY_ASSIGN(
      const Rows rows,
      ask_database(checkout.root,
                   "SELECT deleted || '|' || hex(pathname) || '|' || "
                   "hex(coalesce(origname, pathname)) || '|' || "
                   "(coalesce(origname, pathname) IN (SELECT filename FROM files_of_checkin("
                   "(SELECT value FROM vvar WHERE name = 'checkout-hash')))) || '|' || chnged || "
                   "'|' || islink FROM vfile "
                   "WHERE vid = (SELECT value FROM vvar WHERE name = 'checkout') AND "
                   "(chnged OR deleted OR rid = 0 OR coalesce(origname, pathname) <> pathname OR "
                   "isexe <> (coalesce(origname, pathname) IN (SELECT filename FROM "
                   "files_of_checkin((SELECT value FROM vvar WHERE name = 'checkout-hash')) "
                   "WHERE perm = 'x')))"));
  // The changed files by their current names. If a file was deleted or renamed, and another file now
  // has its old name, the change set does not delete the file with this name.
  std::map<std::string, ChangedFile> files;
  std::vector<std::string> gone;
  std::optional<bool> has_links;
  for (const auto& row : rows) {
    if (row.size() != 6) continue;
    QUARRY_TRY_ASSIGN(std::string name, unhex(row[1]));
    QUARRY_TRY_ASSIGN(std::string before, unhex(row[2]));
    const bool is_deleted = row[0] == "1";
    // Files that were added after the check-in, or by a merge, do not have to be deleted.
    const bool was_there = row[3] == "1";
    const bool is_renamed = was_there && before != name;
    ChangedFile file{.name = name, .path = checkout.root / name};
    std::error_code error;
    if (!is_deleted && row[5] == "1" && !fs::is_symlink(file.path, error)) {
      if (!has_links) {
        QUARRY_TRY_ASSIGN(has_links, has_symbolic_links(checkout));
      }
      file.is_link = !*has_links;
      // `fossil commit` would replace the link with a file. The change set omits the link, because
      // nobody has edited it.
      if (file.is_link && row[4] == kUnlinked && !is_renamed) continue;
    }
    if (was_there && (is_deleted || is_renamed)) gone.push_back(before);
    if (is_deleted) continue;
    if (is_renamed) file.prior = std::move(before);
    files.insert_or_assign(std::move(name), std::move(file));
  }
  for (std::string& name : gone) {
    files.try_emplace(name,
                      ChangedFile{.name = name, .path = checkout.root / name, .is_deletion = true});
  }
  std::vector<ChangedFile> all;
  for (auto& [name, file] : files) all.push_back(std::move(file));
  return all;
}

Result<std::vector<changes::MergedCheckIn>> merges_in(const Checkout& checkout) {
  // As in `fossil commit`, a public check-in does not name private check-ins. If a merge has landed
  // and `fossil update` has fetched the new check-in, fossil still lists the merge in the
  // check-out. Therefore, skip merges that the ancestors of the check-out contain or record. The
  // table "kept" contains the ancestors that no later ancestor backs out.
  QUARRY_TRY_ASSIGN(
      const Rows rows,
      ask_database(checkout.root,
                   "WITH RECURSIVE past(rid) AS ("
                   "SELECT CAST(value AS INTEGER) FROM vvar WHERE name = 'checkout' "
                   "UNION SELECT pid FROM past JOIN plink ON cid = past.rid), "
                   "kept(rid) AS (SELECT rid FROM past EXCEPT "
                   "SELECT parentid FROM cherrypick WHERE isExclude AND childid IN past) "
                   "SELECT id || '|' || mhash FROM vmerge WHERE id <= 0 AND "
                   "merge NOT IN (SELECT rid FROM private) AND "
                   "CASE WHEN id NOT IN (-1, -2) THEN merge NOT IN past "
                   "ELSE (id = -2 OR merge NOT IN kept) AND NOT EXISTS ("
                   "SELECT 1 FROM cherrypick WHERE parentid = merge AND isExclude = (id = -2) AND "
                   "childid IN kept) END ORDER BY id DESC, mhash"));
  std::vector<changes::MergedCheckIn> merges;
  for (const auto& row : rows) {
    if (row.size() != 2) continue;
    const auto hash = artifact::HashName::parse(row[1]);
    if (!hash) {
      return fail(ErrorCode::kInvalid, "unexpected output of fossil sql: \"{}\"",
                  base::printable(row[1]));
    }
    const changes::MergeKind kind = row[0] == kCherrypicked ? changes::MergeKind::kCherrypick
                                    : row[0] == kBackedOut  ? changes::MergeKind::kBackout
                                                            : changes::MergeKind::kMerge;
    merges.push_back({kind, *hash});
  }
  return merges;
}

Result<std::vector<ChangedFile>> files_named(const std::vector<std::string>& names,
                                             const fs::path& folder, const fs::path& root,
                                             bool as_deletions) {
  std::map<std::string, ChangedFile> files;
  const auto add = [&](const fs::path& path, const std::string& name) {
    files.insert_or_assign(name,
                           ChangedFile{.name = name, .path = path, .is_deletion = as_deletions});
  };
  for (const std::string& each : names) {
    const fs::path path = (fs::absolute(folder) / each).lexically_normal();
    QUARRY_TRY_ASSIGN(const std::string name, name_below(root, path));
    std::error_code error;
    const auto status = fs::symlink_status(path, error);
    if (status.type() == fs::file_type::none) {
      return fail(ErrorCode::kIo, "cannot access {}: {}", each, error.message());
    }
    if (!as_deletions && !fs::exists(status)) {
      return fail(ErrorCode::kNotFound, "{} does not exist; to delete it, use --delete {}", each,
                  each);
    }
    if (as_deletions || !fs::is_directory(status)) {
      add(path, name);
      continue;
    }
    for (const auto& below : fs::recursive_directory_iterator(path, error)) {
      if (below.is_directory() && !below.is_symlink()) continue;
      add(below.path(), below.path().lexically_relative(root).generic_string());
    }
    if (error) return fail(ErrorCode::kIo, "{}: {}", each, error.message());
  }
  std::vector<ChangedFile> all;
  for (auto& [name, file] : files) all.push_back(std::move(file));
  return all;
}

Result<char> permission_of(const ChangedFile& file) {
  if (file.is_link) return 'l';
  const fs::path& path = file.path;
  struct stat status {};
  if (::lstat(path.c_str(), &status) != 0) return fail_errno(path.string());
  if (S_ISLNK(status.st_mode)) return 'l';
  if (S_ISREG(status.st_mode)) return (status.st_mode & S_IXUSR) != 0 ? 'x' : '\0';
  return fail(ErrorCode::kInvalid, "{} is neither a file nor a symbolic link", path.string());
}

Result<std::string> content_of(const fs::path& path) {
  std::error_code error;
  if (fs::is_symlink(path, error)) {
    const fs::path target = fs::read_symlink(path, error);
    if (error) return fail(ErrorCode::kIo, "{}: {}", path.string(), error.message());
    return target.string();
  }
  std::ifstream file(path, std::ios::binary);
  std::string content(std::istreambuf_iterator<char>(file), {});
  if (!file) return fail_errno(path.string());
  return content;
}

}  // namespace quarry::app
