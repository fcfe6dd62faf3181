// The files that each check-in changed (mlink). The rows of a check-in depend only on its manifest
// and the manifests of its parents. When one of these manifests arrives, all rows of the check-in
// are recomputed.
//
//   without a parent       every file is new (pmid 0)
//   primary parent missing, or plain data
//                          no rows (yet), not even for merge parents
//   otherwise              the differences from the primary parent. For each existing merge
//                          parent, also the differences from the merge parent in the same files
//                          (isaux 1). A file that exists in a merge parent but not in the primary
//                          parent was added by a merge (pid -1)
//
// A parent that is not a check-in does not have files. Each comparison adds file names and
// phantoms, even if it does not add rows.

#include "file_links.h"

#include <algorithm>
#include <unordered_map>
#include <unordered_set>

namespace quarry::repository {

using artifact::FileCard;
using artifact::Structural;
using artifact::StructuralType;

namespace {

struct MlinkRow {
  Rid fid, pmid, pid;
  std::int64_t fnid, pfnid;
  int permission;
  bool is_aux;
};

}  // namespace

std::optional<FileSet> FileLinks::file_set(Rid rid) {
  Manifest manifest = work_.manifests.get(rid);
  if (!manifest) return std::nullopt;
  Files own = work_.manifests.files(rid);
  if (!own) return std::nullopt;
  if (manifest->baseline.empty()) return FileSet(std::move(manifest), std::move(own), nullptr);
  const Rid baseline = work_.names.find(manifest->baseline);
  const Manifest base = work_.manifests.get(baseline);
  if (!base || base->type != StructuralType::kCheckIn) return std::nullopt;
  return FileSet(std::move(manifest), std::move(own), work_.manifests.files(baseline));
}

namespace {

/// A difference between two file lists. If the file does not exist in one of the lists, the hash
/// for that list is empty. The views point into the cards.
struct FileChange {
  std::string_view from, to, name, prior;
  int permission;
};

/// Returns the value of mlink.mperm for FILE.
int permission_number(const FileCard& file) {
  if (file.permission == 'x') return 1;
  if (file.permission == 'l') return 2;
  return 0;
}

/// Returns the change of FILE in the child, or nullopt if it is unchanged. OLD is the file with the
/// same name in PARENT, or null.
std::optional<FileChange> change_of(const FileCard& file, const FileCard* old,
                                    const FileSet& parent) {
  const int permission = permission_number(file);
  if (!file.prior.empty()) {
    old = parent.find(file.prior);
    if (old != nullptr) return FileChange{old->hash, file.hash, file.name, file.prior, permission};
    return FileChange{{}, file.hash, file.name, {}, permission};
  }
  if (old == nullptr) {
    if (file.hash.empty()) return std::nullopt;
    return FileChange{{}, file.hash, file.name, {}, permission};
  }
  if (file.hash == old->hash && permission_number(*old) == permission) return std::nullopt;
  return FileChange{old->hash, file.hash, file.name, {}, permission};
}

FileChange removal_of(const FileCard& old) {
  return {old.hash, {}, old.name, {}, 0};
}

/// Compares two manifests without baselines by merging both lists.
std::vector<FileChange> changes_between_lists(const FileSet& parent, const FileSet& child) {
  std::vector<FileChange> changes, removals;
  FileList::Cursor before(parent.own()), now(child.own());
  const auto add = [&](const FileCard* old) {
    if (auto change = change_of(now.card(), old, parent)) changes.push_back(*change);
    now.advance();
  };
  while (!before.at_end() || !now.at_end()) {
    if (now.at_end()) {
      removals.push_back(removal_of(before.card()));
      before.advance();
    } else if (before.at_end()) {
      add(nullptr);
    } else if (!now.pass_same(before)) {
      const int order = now.card().name.compare(before.card().name);
      if (order > 0) removals.push_back(removal_of(before.card()));
      if (order <= 0) add(order == 0 ? &before.card() : nullptr);
      if (order >= 0) before.advance();
    }
  }
  changes.insert(changes.end(), removals.begin(), removals.end());
  return changes;
}

/// Compares two delta manifests. Adds files that only the parent's manifest lists. In the child,
/// these files have the versions of the baseline.
void add_reverted(const FileSet& parent, const FileSet& child, std::vector<FileChange>& changes) {
  parent.own().for_each([&](const FileCard& old) {
    if (!old.hash.empty() && child.find_own(old.name) != nullptr) return;
    const FileCard* now = child.find(old.name);
    if (now != nullptr) {
      changes.push_back({old.hash, now->hash, now->name, {}, permission_number(*now)});
    }
  });
}

/// Returns the same differences as fossil's rebuild: files of CHILD by name, then deleted files.
std::vector<FileChange> changes_between(const FileSet& parent, const FileSet& child) {
  if (!parent.is_delta() && !child.is_delta()) return changes_between_lists(parent, child);
  std::vector<FileChange> changes;
  child.own().for_each([&](const FileCard& file) {
    if (auto change = change_of(file, parent.find(file.name), parent)) changes.push_back(*change);
  });
  if (parent.is_delta() && child.is_delta()) {
    add_reverted(parent, child, changes);
  } else if (!child.is_delta()) {
    parent.for_each([&](const FileCard& old) {
      if (child.find(old.name) == nullptr) changes.push_back(removal_of(old));
    });
  }
  return changes;
}

class MlinkRows {
 public:
  /// NAMES is not owned.
  explicit MlinkRows(Names& names) : names_(names) {}

  void add(const FileChange& change, Rid pmid, bool is_aux) {
    const MlinkRow row{.fid = change.to.empty() ? 0 : names_.need(change.to),
                       .pmid = pmid,
                       .pid = change.from.empty() ? 0 : names_.need(change.from),
                       .fnid = names_.file_name(change.name),
                       .pfnid = change.prior.empty() ? 0 : names_.file_name(change.prior),
                       .permission = change.permission,
                       .is_aux = is_aux};
    contents_.push_back(row.fid);
    if (!row.is_aux) primary_names_.insert(row.fnid);
    // Differences from a merge parent are used only for files that also differ from the primary
    // parent.
    if (row.is_aux && !primary_names_.contains(row.fnid)) return;
    ++rows_per_name_[row.fnid];
    rows_.push_back(row);
  }
  void compare(const FileSet& parent, Rid pmid, const FileSet& child, bool is_aux) {
    for (const FileChange& change : changes_between(parent, child)) add(change, pmid, is_aux);
  }
  bool has_parent(Rid pmid) const {
    return std::ranges::any_of(rows_, [&](const MlinkRow& row) { return row.pmid == pmid; });
  }
  bool is_empty() const { return rows_.empty(); }
  void mark_added_by_merge(std::size_t links) {
    for (MlinkRow& row : rows_) {
      if (row.pid == 0 && rows_per_name_[row.fnid] < links) row.pid = -1;
    }
  }
  /// Removes the rows. File names and phantoms remain.
  void clear() {
    rows_.clear();
    primary_names_.clear();
    rows_per_name_.clear();
  }
  /// Replaces the existing rows. IS_NONE is true if there are no existing rows.
  void write(Database& database, Rid mid, bool is_none) const;
  /// Returns the rids of the child's versions of all compared files.
  const std::vector<Rid>& contents() const { return contents_; }

 private:
  Names& names_;
  std::vector<MlinkRow> rows_;
  std::vector<Rid> contents_;
  std::unordered_set<std::int64_t> primary_names_;
  std::unordered_map<std::int64_t, std::size_t> rows_per_name_;
};

void MlinkRows::write(Database& database, Rid mid, bool is_none) const {
  if (!is_none) {
    database.execute("DELETE FROM mlink INDEXED BY mlink_i1 WHERE mid=?1", mid);
  }
  Query insert = database.query(
      "INSERT INTO mlink(mid,fid,pmid,pid,fnid,pfnid,mperm,isaux)"
      " VALUES(?1,?2,?3,?4,?5,?6,?7,?8)");
  for (const MlinkRow& row : rows_) {
    insert.bind(mid, row.fid, row.pmid, row.pid, row.fnid, row.pfnid, row.permission, row.is_aux)
        .run();
  }
}

/// Returns the artifacts with which CHILD is compared, in addition to its primary parent.
std::vector<std::string_view> merged_into(const Structural& child) {
  std::vector<std::string_view> merged;
  if (!child.parents.empty()) merged.assign(child.parents.begin() + 1, child.parents.end());
  for (const auto& cherrypick : child.cherrypicks) {
    if (!cherrypick.is_backout) merged.push_back(cherrypick.target);
  }
  return merged;
}

}  // namespace

/// A check-in that is being compared with its parents.
struct FileLinks::Comparison {
  FileSet files;
  MlinkRows rows;
};

/// Computes the rows for PARENTS, primary first. If the primary parent cannot be compared, no rows
/// are added.
void FileLinks::compare_files(Comparison& child, const std::vector<std::string_view>& parents) {
  if (parents.empty()) {
    child.files.own().for_each([&](const FileCard& file) {
      child.rows.add({{}, file.hash, file.name, {}, permission_number(file)}, 0, false);
    });
    return;
  }
  const Rid primary = work_.names.find(parents.front());
  const std::optional<FileSet> parent = file_set(primary);
  if (!parent) return;
  child.rows.compare(*parent, primary, child.files, false);
  const Structural& manifest = child.files.manifest();
  for (const std::string_view name : merged_into(manifest)) {
    const Rid pmid = work_.names.find(name);
    if (pmid == 0 || child.rows.has_parent(pmid)) continue;
    const std::optional<FileSet> other = file_set(pmid);
    if (other) child.rows.compare(*other, pmid, child.files, true);
  }
  const auto picks =
      std::ranges::count(manifest.cherrypicks, false, &artifact::CherrypickCard::is_backout);
  const std::size_t links = parents.size() + static_cast<std::size_t>(picks);
  if (links > 1) child.rows.mark_added_by_merge(links);
}

void FileLinks::compute_mlinks(Rid rid) {
  std::optional<FileSet> files = file_set(rid);
  if (!files || files->manifest().type != StructuralType::kCheckIn) return;
  Comparison child{.files = std::move(*files), .rows = MlinkRows(work_.names)};
  compare_files(child, child.files.manifest().parents);
  const std::vector<artifact::HashName> by_tag = reparenting_.parents_by_tag(rid);
  if (!by_tag.empty()) {
    child.rows.clear();
    std::vector<std::string_view> parents;
    for (const artifact::HashName& name : by_tag) parents.push_back(name.str());
    compare_files(child, parents);
  }
  child.rows.write(work_.database, rid, work_.is_whole);

  if (!work_.privacy.hides_anything() || work_.privacy.is_private(rid)) return;
  for (const Rid fid : child.rows.contents()) work_.privacy.make_public(fid);
}

void FileLinks::write_mlinks(Rid rid, const std::vector<std::string_view>& parents) {
  std::optional<FileSet> files = file_set(rid);
  if (!files) return;
  Comparison child{.files = std::move(*files), .rows = MlinkRows(work_.names)};
  compare_files(child, parents);
  child.rows.write(work_.database, rid, false);
}

}  // namespace quarry::repository
