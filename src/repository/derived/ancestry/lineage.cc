#include "lineage.h"

#include <algorithm>
#include <iterator>

namespace quarry::repository {
namespace {

void insert(Database& database, const ParentLink& link) {
  database.execute(
      "INSERT OR IGNORE INTO plink(pid,cid,isprim,mtime,baseid) VALUES(?1,?2,?3,?4,nullif(?5,0))",
      link.parent, link.child, link.is_primary, link.day, link.baseline);
}

}  // namespace

void Lineage::hold() {
  nodes_.clear();
  is_held_ = true;
}

void Lineage::let_go() {
  nodes_.clear();
  is_held_ = false;
}

const Lineage::Node& Lineage::node(Rid rid) const {
  static const Node kNone;
  const auto found = nodes_.find(rid);
  return found == nodes_.end() ? kNone : found->second;
}

void Lineage::link(const ParentLink& link) {
  if (!is_held_) return insert(database_, link);
  std::vector<ParentLink>& up = nodes_[link.child].up;
  if (std::ranges::find(up, link.parent, &ParentLink::parent) != up.end()) return;
  up.push_back(link);
  nodes_[link.parent].down.push_back({link.child, link.is_primary});
}

void Lineage::write() {
  std::vector<const ParentLink*> links;
  for (const auto& [rid, node] : nodes_) {
    for (const ParentLink& link : node.up) links.push_back(&link);
  }
  std::ranges::sort(links, [](const ParentLink* a, const ParentLink* b) {
    return a->parent != b->parent ? a->parent < b->parent : a->child < b->child;
  });
  for (const ParentLink* link : links) insert(database_, *link);
}

void Lineage::unlink(Rid child) {
  database_.execute("DELETE FROM plink INDEXED BY plink_i2 WHERE cid=?1", child);
}

void Lineage::note_check_in(Rid rid, double day) {
  if (is_held_) nodes_[rid].day = day;
}

void Lineage::read_picks() {
  if (!is_held_) return;
  for (auto& [rid, node] : nodes_) {
    node.picked.clear();
    node.picked_by.clear();
  }
  Query query = database_.query("SELECT parentid, childid FROM cherrypick WHERE NOT isExclude");
  while (query.step()) {
    nodes_[query.integer(0)].picked_by.push_back(query.integer(1));
    nodes_[query.integer(1)].picked.push_back(query.integer(0));
  }
}

std::vector<Rid> Lineage::parents(Rid child) {
  if (!is_held_) {
    return database_.integers("SELECT pid FROM plink INDEXED BY plink_i2 WHERE cid=?1 AND pid>0",
                              child);
  }
  std::vector<Rid> parents;
  for (const ParentLink& link : node(child).up) {
    if (link.parent > 0) parents.push_back(link.parent);
  }
  std::ranges::sort(parents);
  return parents;
}

Rid Lineage::primary_parent(Rid child) {
  if (!is_held_) {
    return database_.first_integer(
        "SELECT pid FROM plink INDEXED BY plink_i2 WHERE cid=?1 AND isprim", child);
  }
  const Node& of = node(child);
  const auto found = std::ranges::find(of.up, true, &ParentLink::is_primary);
  return found == of.up.end() ? 0 : found->parent;
}

std::vector<Lineage::Child> Lineage::children(Rid parent) {
  if (is_held_) return node(parent).down;
  std::vector<Child> children;
  Query query = database_.query(
      "SELECT cid, isprim FROM plink INDEXED BY sqlite_autoindex_plink_1 WHERE pid=?1", parent);
  while (query.step()) children.push_back({query.integer(0), query.integer(1) != 0});
  return children;
}

std::vector<Rid> Lineage::picked_for(Rid child) {
  if (is_held_) return node(child).picked;
  return database_.integers(
      "SELECT parentid FROM cherrypick INDEXED BY cherrypick_cid"
      " WHERE childid=?1 AND NOT isExclude",
      child);
}

std::vector<Rid> Lineage::picked_by(Rid rid) {
  if (is_held_) return node(rid).picked_by;
  return database_.integers("SELECT childid FROM cherrypick WHERE parentid=?1 AND NOT isExclude",
                            rid);
}

std::optional<double> Lineage::check_in_day(Rid rid) {
  if (is_held_) return node(rid).day;
  Query query = database_.query("SELECT omtime FROM event WHERE objid=?1 AND type='ci'", rid);
  if (!query.step()) return std::nullopt;
  return query.real(0);
}

std::vector<ParentLink> Lineage::primary_links() {
  std::vector<ParentLink> links;
  for (const auto& [rid, node] : nodes_) {
    std::ranges::copy_if(node.up, std::back_inserter(links), &ParentLink::is_primary);
  }
  return links;
}

}  // namespace quarry::repository
