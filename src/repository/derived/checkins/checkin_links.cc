#include "checkin_links.h"

#include "derived/common/printed_day.h"

namespace quarry::repository {

using artifact::Structural;
using artifact::StructuralType;

void CheckinLinks::collect_children(Rid rid) {
  const auto collect = [&](const char* sql) {
    for (const Rid child : work_.database.integers(sql, rid)) {
      work_.pending.stale_mlinks.insert(child);
      work_.pending.stale_times.insert(child);
    }
  };
  collect(
      "SELECT cid FROM plink INDEXED BY sqlite_autoindex_plink_1 WHERE pid=?1"
      " UNION SELECT childid FROM cherrypick WHERE parentid=?1 AND NOT isExclude");
  if (!work_.database.has_table("fx_quarry_cherrypick")) return;
  collect(
      "SELECT childid FROM fx_quarry_cherrypick"
      " WHERE target=(SELECT uuid FROM blob WHERE rid=?1) AND isexclude<0");
}

void CheckinLinks::collect_relatives(Rid rid) {
  work_.pending.stale_mlinks.insert(rid);
  work_.pending.stale_times.insert(rid);
  if (work_.is_whole) return;  // all relatives are pending, too
  collect_children(rid);
  const std::vector<Rid> orphans = work_.database.integers(
      "SELECT rid FROM orphan INDEXED BY orphan_baseline WHERE baseline=?1", rid);
  work_.database.execute("DELETE FROM orphan INDEXED BY orphan_baseline WHERE baseline=?1", rid);
  for (const Rid orphan : orphans) {
    const Manifest manifest = work_.manifests.get(orphan);
    if (manifest && manifest->date) work_.pending.add(orphan, *manifest);
  }
}

void CheckinLinks::resolve_cherrypicks() {
  if (!work_.database.has_table("fx_quarry_cherrypick")) return;
  const std::vector<Rid> children = work_.database.integers(
      "SELECT childid FROM fx_quarry_cherrypick AS w WHERE w.isexclude>=0"
      " AND EXISTS(SELECT 1 FROM blob WHERE uuid=w.target)");
  if (children.empty()) return;
  work_.database.execute(
      "INSERT OR REPLACE INTO cherrypick(parentid,childid,isExclude)"
      " SELECT (SELECT rid FROM blob WHERE uuid=w.target), w.childid, w.isexclude"
      " FROM fx_quarry_cherrypick AS w WHERE w.isexclude>=0"
      " AND EXISTS(SELECT 1 FROM blob WHERE uuid=w.target);"
      "DELETE FROM fx_quarry_cherrypick WHERE isexclude>=0"
      " AND EXISTS(SELECT 1 FROM blob WHERE uuid=target)");
  work_.pending.stale_mlinks.insert(children.begin(), children.end());
  work_.pending.stale_times.insert(children.begin(), children.end());
}

bool CheckinLinks::link_check_in(Rid rid, const Structural& manifest) {
  if (manifest.is_delta_manifest()) {
    const Rid baseline = work_.names.need(manifest.baseline);
    const Manifest base = work_.manifests.get(baseline);
    if (!base || base->type != StructuralType::kCheckIn) {
      work_.pending.stale_mlinks.erase(rid);
      work_.database.execute("INSERT OR IGNORE INTO orphan(rid,baseline) VALUES(?1,?2)", rid,
                             baseline);
      return false;
    }
    work_.database
        .query(
            "INSERT OR IGNORE INTO config(name,value,mtime)"
            " VALUES('seen-delta-manifest','1',CAST(strftime('%s','now') AS INTEGER))")
        .run();
  }
  link_parents(rid, manifest, manifest.parents);
  link_cherrypicks(rid, manifest);
  return true;
}

void CheckinLinks::link_parents(Rid rid, const Structural& manifest,
                                const std::vector<std::string_view>& parents) {
  const double day = printed_day(work_.database, *manifest.date);
  bool is_primary = true;
  for (const std::string_view parent : parents) {
    work_.lineage.link(
        {.parent = work_.names.need(parent),
         .child = rid,
         .is_primary = is_primary,
         .day = day,
         .baseline = manifest.is_delta_manifest() ? work_.names.need(manifest.baseline) : 0});
    is_primary = false;
  }
  // If the check-in already has a branch tag, the tag arrived first, when the parents were not
  // linked yet. Therefore, recompute now whether the check-in and its parents are leaves.
  if (work_.tags.get(kTagBranch, rid)) work_.pending.stale_leaves.insert(rid);
}

void CheckinLinks::link_cherrypicks(Rid rid, const Structural& manifest) {
  for (const auto& cherrypick : manifest.cherrypicks) {
    const Rid target = work_.names.find_as_written(cherrypick.target);
    if (target == 0) {
      // Fossil does not create a phantom for an unknown target, so the link is kept in our own
      // table, which fossil's rebuild does not delete. If the target has upper-case letters,
      // isexclude is -1. Such a link is used to compare files, but never gets a row in
      // `cherrypick`.
      const std::string lower = lower_hash(cherrypick.target);
      const bool has_capitals = lower != cherrypick.target;
      if (has_capitals && cherrypick.is_backout) continue;
      work_.database.execute(
          "CREATE TABLE IF NOT EXISTS fx_quarry_cherrypick("
          "target TEXT, childid INTEGER, isexclude INTEGER, PRIMARY KEY(target,childid))"
          " WITHOUT ROWID");
      work_.database.execute("INSERT OR REPLACE INTO fx_quarry_cherrypick VALUES(?1,?2,?3)", lower,
                             rid, has_capitals ? -1 : int{cherrypick.is_backout});
      continue;
    }
    work_.database.execute(
        "INSERT OR REPLACE INTO cherrypick(parentid,childid,isExclude) VALUES(?1,?2,?3)", target,
        rid, cherrypick.is_backout);
  }
}

}  // namespace quarry::repository
