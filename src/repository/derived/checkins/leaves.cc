#include "leaves.h"

#include <algorithm>

namespace quarry::repository {

namespace {

std::string branch_of(TagEntries& tags, Rid rid) {
  const std::optional<TagEntry> branch = tags.get(kTagBranch, rid);
  return branch && branch->value ? *branch->value : "trunk";
}

}  // namespace

bool Leaves::has_child_on_its_branch(Rid rid) {
  const std::vector<Lineage::Child> children = work_.lineage.children(rid);
  if (children.empty()) return false;
  const std::string branch = branch_of(work_.tags, rid);
  return std::ranges::any_of(children, [&](const Lineage::Child& child) {
    return branch_of(work_.tags, child.rid) == branch;
  });
}

/// Returns whether the parents of RID are already linked when the branch of RID changes. This is
/// the case if the branch is inherited, is set by another artifact, or is set by RID's own card and
/// RID is a check-in. If RID is not a check-in, its own cards are applied before its parents are
/// linked.
bool Leaves::names_branch_of_parents(Rid rid) {
  const std::optional<TagEntry> branch = work_.tags.get(kTagBranch, rid);
  return !branch || branch->source != rid || work_.lineage.is_check_in(rid);
}

/// Returns whether RID can be a leaf. Fossil looks for leaves only among artifacts whose branch tag
/// changes, and their parents. Therefore, an artifact is never a leaf if neither the artifact nor
/// any of its children has a branch tag. CHANGED is RID or a child of RID.
bool Leaves::is_leaf_candidate(Rid rid, Rid changed) {
  if (rid == changed || work_.tags.get(kTagBranch, rid)) return true;
  return std::ranges::any_of(work_.lineage.children(rid), [&](const Lineage::Child& child) {
    const bool has_branch = child.rid == changed || work_.tags.get(kTagBranch, child.rid);
    return has_branch && names_branch_of_parents(child.rid);
  });
}

void Leaves::refresh_leaf(Rid rid) {
  std::vector<Rid> check = work_.lineage.parents(rid);
  check.push_back(rid);
  for (const Rid candidate : check) {
    const bool is_leaf = is_leaf_candidate(candidate, rid) && !has_child_on_its_branch(candidate);
    work_.database.execute(
        is_leaf ? "INSERT OR IGNORE INTO leaf(rid) VALUES(?1)" : "DELETE FROM leaf WHERE rid=?1",
        candidate);
  }
}

void Leaves::outgrow_parents(Rid rid) {
  for (const Rid parent : work_.lineage.parents(rid)) {
    if (!has_child_on_its_branch(parent)) continue;
    work_.database.execute("DELETE FROM leaf WHERE rid=?1", parent);
  }
}

}  // namespace quarry::repository
