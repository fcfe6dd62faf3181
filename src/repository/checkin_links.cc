// Who descends from whom (plink, cherrypick), and what each check-in changed (mlink).
//
// The mlink rows of a check-in are a function of its manifest and those of its parents, so they are
// made anew as a whole whenever one of these arrives:
//
//   no parent              every file is new (pmid 0)
//   primary parent absent  no rows yet, not even for merge parents
//   otherwise              the differences to the primary parent, and for each merge parent that is
//                          there (isaux 1) its differences in those same files; then a file that is
//                          new to the check-in but not to all its parents came by a merge: pid -1

#include <fmt/core.h>

#include <map>
#include <unordered_set>

#include "derivation.h"
#include "printed_day.h"

namespace quarry::repository {

using artifact::FileCard;
using artifact::Structural;
using artifact::StructuralType;

namespace {

int permission_number(const FileCard& file) {
  if (file.permission == 'x') return 1;
  if (file.permission == 'l') return 2;
  return 0;
}

struct MlinkRow {
  Rid fid, pmid, pid;
  std::int64_t fnid, pfnid;
  int permission;
  bool is_aux;
};

/// One difference between a parent and a child. Empty hashes: not in the parent, not in the child.
struct Change {
  std::string_view from, to, name, prior;
  int permission;
};

Change change_of(const FileCard& file, const FileSet& parent, bool* is_change) {
  const int permission = permission_number(file);
  *is_change = true;
  if (!file.prior.empty()) {
    const FileCard* old = parent.find(file.prior);
    if (old != nullptr) return {old->hash, file.hash, file.name, file.prior, permission};
    return {{}, file.hash, file.name, {}, permission};
  }
  const FileCard* old = parent.find(file.name);
  if (old == nullptr) {
    *is_change = !file.hash.empty();
    return {{}, file.hash, file.name, {}, permission};
  }
  *is_change = file.hash != old->hash || permission_number(*old) != permission;
  return {old->hash, file.hash, file.name, {}, permission};
}

/// What two delta manifests do not say of each other: files that the parent names and the child
/// does not, so that they fall back to the baseline.
void reverted_files(const FileSet& parent, const FileSet& child, std::vector<Change>& changes) {
  for (const FileCard& old : parent.own()) {
    if (!old.hash.empty() && child.find_own(old.name) != nullptr) continue;
    const FileCard* now = child.find(old.name);
    if (now != nullptr) {
      changes.push_back({old.hash, now->hash, now->name, {}, permission_number(*now)});
    }
  }
}

void removed_files(const FileSet& parent, const FileSet& child, std::vector<Change>& changes) {
  parent.for_each([&](const FileCard& old) {
    if (child.find(old.name) == nullptr) changes.push_back({old.hash, {}, old.name, {}, 0});
  });
}

std::vector<Change> changes_between(const FileSet& parent, const FileSet& child) {
  std::vector<Change> changes;
  for (const FileCard& file : child.own()) {
    bool is_change = false;
    const Change change = change_of(file, parent, &is_change);
    if (is_change) changes.push_back(change);
  }
  if (parent.is_delta() && child.is_delta()) {
    reverted_files(parent, child, changes);
  } else if (!child.is_delta()) {
    removed_files(parent, child, changes);
  }
  return changes;
}

}  // namespace

std::optional<FileSet> Derivation::file_set(Rid rid) {
  Manifest manifest = c_.manifests.get(rid);
  if (!manifest) return std::nullopt;
  if (manifest->baseline.empty()) return FileSet(std::move(manifest), nullptr);
  Manifest baseline = c_.manifests.get(c_.names.find(manifest->baseline));
  if (!baseline || baseline->type != StructuralType::kCheckIn) return std::nullopt;
  return FileSet(std::move(manifest), std::move(baseline));
}

/// Notes everything that has to be made anew because the check-in RID is there now.
void Derivation::collect_relatives(Rid rid) {
  stale_mlinks_.insert(rid);
  stale_times_.insert(rid);
  {
    Query children = c_.database.query(
        "SELECT cid FROM plink INDEXED BY sqlite_autoindex_plink_1 WHERE pid=?1"
        " UNION SELECT childid FROM cherrypick WHERE parentid=?1 AND NOT isExclude");
    children.bind(1, rid);
    while (children.step()) {
      stale_mlinks_.insert(children.integer(0));
      stale_times_.insert(children.integer(0));
    }
  }
  std::vector<Rid> orphans;
  {
    Query waiting =
        c_.database.query("SELECT rid FROM orphan INDEXED BY orphan_baseline WHERE baseline=?1");
    waiting.bind(1, rid);
    while (waiting.step()) orphans.push_back(waiting.integer(0));
  }
  c_.database.query("DELETE FROM orphan INDEXED BY orphan_baseline WHERE baseline=?1")
      .bind(1, rid)
      .run();
  for (const Rid orphan : orphans) arrived(orphan, StructuralType::kCheckIn);
}

/// Cherry-picks whose target was unknown and now has a row.
void Derivation::resolve_cherrypicks() {
  if (!c_.database.has_table("fx_quarry_cherrypick")) return;
  std::vector<Rid> children;
  {
    Query found = c_.database.query(
        "SELECT childid FROM fx_quarry_cherrypick AS w JOIN blob ON blob.uuid=w.target");
    while (found.step()) children.push_back(found.integer(0));
  }
  if (children.empty()) return;
  c_.database
      .query(
          "INSERT OR REPLACE INTO cherrypick(parentid,childid,isExclude)"
          " SELECT blob.rid, w.childid, w.isexclude FROM fx_quarry_cherrypick AS w"
          " JOIN blob ON blob.uuid=w.target")
      .run();
  c_.database.query("DELETE FROM fx_quarry_cherrypick WHERE target IN (SELECT uuid FROM blob)")
      .run();
  stale_mlinks_.insert(children.begin(), children.end());
  stale_times_.insert(children.begin(), children.end());
}

/// Returns false where the check-in has to wait for its baseline.
bool Derivation::link_check_in(Rid rid, const Structural& manifest) {
  if (manifest.is_delta_manifest()) {
    const Rid baseline = c_.names.need(manifest.baseline);
    const Manifest base = c_.manifests.get(baseline);
    if (!base || base->type != StructuralType::kCheckIn) {
      stale_mlinks_.erase(rid);
      c_.database.query("INSERT OR IGNORE INTO orphan(rid,baseline) VALUES(?1,?2)")
          .bind(1, rid)
          .bind(2, baseline)
          .run();
      return false;
    }
    c_.database
        .query(
            "INSERT OR IGNORE INTO config(name,value,mtime)"
            " VALUES('seen-delta-manifest','1',CAST(strftime('%s','now') AS INTEGER))")
        .run();
  }
  link_parents(rid, manifest, manifest.parents);
  link_cherrypicks(rid, manifest);
  return true;
}

void Derivation::link_parents(Rid rid, const Structural& manifest,
                              const std::vector<std::string_view>& parents) {
  const double day = printed_day(c_.database, base::julian_day(*manifest.date));
  bool is_primary = true;
  for (const std::string_view parent : parents) {
    Query insert = c_.database.query(
        "INSERT OR IGNORE INTO plink(pid,cid,isprim,mtime,baseid) VALUES(?1,?2,?3,?4,?5)");
    insert.bind(1, c_.names.need(parent)).bind(2, rid).bind(3, is_primary ? 1 : 0);
    insert.bind(4, day);
    manifest.is_delta_manifest() ? insert.bind(5, c_.names.need(manifest.baseline))
                                 : insert.bind_null(5);
    insert.run();
    is_primary = false;
  }
}

std::vector<Rid> Derivation::parents_of(Rid rid) {
  std::vector<Rid> found;
  Query parents =
      c_.database.query("SELECT pid FROM plink INDEXED BY plink_i2 WHERE cid=?1 AND pid>0");
  parents.bind(1, rid);
  while (parents.step()) found.push_back(parents.integer(0));
  return found;
}

Rid Derivation::primary_parent(Rid rid) {
  Query parent =
      c_.database.query("SELECT pid FROM plink INDEXED BY plink_i2 WHERE cid=?1 AND isprim");
  return parent.bind(1, rid).step() ? parent.integer(0) : 0;
}

void Derivation::link_cherrypicks(Rid rid, const Structural& manifest) {
  for (const auto& cherrypick : manifest.cherrypicks) {
    const Rid target = c_.names.find(cherrypick.target);
    if (target == 0) {
      // Fossil makes no phantom for these; remember who waits in a table that its rebuild keeps.
      c_.database.execute(
          "CREATE TABLE IF NOT EXISTS fx_quarry_cherrypick("
          "target TEXT, childid INTEGER, isexclude INTEGER, PRIMARY KEY(target,childid))"
          " WITHOUT ROWID");
      c_.database.query("INSERT OR REPLACE INTO fx_quarry_cherrypick VALUES(?1,?2,?3)")
          .bind(1, cherrypick.target)
          .bind(2, rid)
          .bind(3, cherrypick.is_backout ? 1 : 0)
          .run();
      continue;
    }
    c_.database
        .query("INSERT OR REPLACE INTO cherrypick(parentid,childid,isExclude) VALUES(?1,?2,?3)")
        .bind(1, target)
        .bind(2, rid)
        .bind(3, cherrypick.is_backout ? 1 : 0)
        .run();
  }
}

void Derivation::make_public(Rid rid) {
  Query remove = c_.database.query("DELETE FROM private WHERE rid=?1");
  remove.bind(1, rid).run();
  if (c_.database.changes() == 0) return;
  c_.database.query("INSERT OR IGNORE INTO unclustered(rid) VALUES(?1)").bind(1, rid).run();
}

namespace {

/// The rows of one check-in while they are collected.
class MlinkRows {
 public:
  void add(const MlinkRow& row) {
    if (!row.is_aux) primary_names_.insert(row.fnid);
    // A merge parent's difference counts only in files that differ from the primary parent's.
    if (row.is_aux && !primary_names_.contains(row.fnid)) return;
    ++rows_per_name_[row.fnid];
    rows_.push_back(row);
  }
  bool has_parent(Rid pmid) const {
    for (const MlinkRow& row : rows_) {
      if (row.pmid == pmid) return true;
    }
    return false;
  }
  void mark_added_by_merge(std::size_t links) {
    for (MlinkRow& row : rows_) {
      if (row.pid == 0 && rows_per_name_[row.fnid] < links) row.pid = -1;
    }
  }
  const std::vector<MlinkRow>& rows() const { return rows_; }

 private:
  std::vector<MlinkRow> rows_;
  std::unordered_set<std::int64_t> primary_names_;
  std::unordered_map<std::int64_t, std::size_t> rows_per_name_;
};

MlinkRow row_of(const Change& change, Rid pmid, bool is_aux, Names& names) {
  return {.fid = change.to.empty() ? 0 : names.need(change.to),
          .pmid = pmid,
          .pid = change.from.empty() ? 0 : names.need(change.from),
          .fnid = names.file_name(change.name),
          .pfnid = change.prior.empty() ? 0 : names.file_name(change.prior),
          .permission = change.permission,
          .is_aux = is_aux};
}

void write_rows(Database& database, Rid mid, const std::vector<MlinkRow>& rows) {
  database.query("DELETE FROM mlink INDEXED BY mlink_i1 WHERE mid=?1").bind(1, mid).run();
  Query insert = database.query(
      "INSERT INTO mlink(mid,fid,pmid,pid,fnid,pfnid,mperm,isaux)"
      " VALUES(?1,?2,?3,?4,?5,?6,?7,?8)");
  for (const MlinkRow& row : rows) {
    insert.bind(1, mid).bind(2, row.fid).bind(3, row.pmid).bind(4, row.pid).bind(5, row.fnid);
    insert.bind(6, row.pfnid).bind(7, row.permission).bind(8, row.is_aux ? 1 : 0);
    insert.run();
  }
}

}  // namespace

void Derivation::compute_mlinks(Rid rid) {
  const std::optional<FileSet> child = file_set(rid);
  if (!child || child->manifest().type != StructuralType::kCheckIn) return;
  const Structural& manifest = child->manifest();
  const std::vector<artifact::HashName> by_tag = parents_by_tag(rid);
  std::vector<std::string_view> parents;
  for (const artifact::HashName& name : by_tag) parents.push_back(name.str());
  if (parents.empty()) parents = manifest.parents;
  MlinkRows rows;
  if (parents.empty()) {
    for (const FileCard& file : child->own()) {
      rows.add(row_of({{}, file.hash, file.name, {}, permission_number(file)}, 0, false, c_.names));
    }
  } else {
    std::vector<std::string_view> merged;
    if (!manifest.parents.empty())
      merged.assign(manifest.parents.begin() + 1, manifest.parents.end());
    std::size_t links = parents.size();
    for (const auto& cherrypick : manifest.cherrypicks) {
      if (cherrypick.is_backout) continue;
      merged.push_back(cherrypick.target);
      ++links;
    }
    const Rid primary = c_.names.find(parents.front());
    const std::optional<FileSet> parent = file_set(primary);
    if (!parent) return;
    for (const Change& change : changes_between(*parent, *child)) {
      rows.add(row_of(change, primary, false, c_.names));
    }
    for (const std::string_view name : merged) {
      const Rid pmid = c_.names.find(name);
      if (pmid == 0 || rows.has_parent(pmid)) continue;
      const std::optional<FileSet> other = file_set(pmid);
      if (!other) continue;
      for (const Change& change : changes_between(*other, *child)) {
        rows.add(row_of(change, pmid, true, c_.names));
      }
    }
    if (links > 1) rows.mark_added_by_merge(links);
  }
  write_rows(c_.database, rid, rows.rows());

  if (!c_.database.query("SELECT 1 FROM private LIMIT 1").step()) return;
  if (c_.database.query("SELECT 1 FROM private WHERE rid=?1").bind(1, rid).step()) return;
  for (const MlinkRow& row : rows.rows()) make_public(row.fid);
}

}  // namespace quarry::repository
