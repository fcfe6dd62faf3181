#include "tag_entries.h"

#include <algorithm>
#include <map>

namespace quarry::repository {

namespace {

void write_row(Database& database, std::int64_t tag, Rid rid, const TagEntry& entry,
               bool inherits) {
  database.execute(
      "INSERT OR REPLACE INTO tagxref(tagid,tagtype,srcid,origid,value,mtime,rid)"
      " VALUES(?1,?2,?3,?4,?5,?6,?7)",
      tag, entry.type, inherits ? 0 : entry.source, entry.origin, entry.value, entry.day, rid);
}

template <typename Entries>
auto find_tag(Entries& entries, std::int64_t tag) {
  const auto found =
      std::ranges::lower_bound(entries, tag, {}, [](const auto& e) { return e.first; });
  return found != entries.end() && found->first == tag ? found : entries.end();
}

}  // namespace

int tag_type(const artifact::TagCard& card) {
  if (card.kind == '-') return kCancelTag;
  return card.kind == '+' ? kSingleTag : kPropagatingTag;
}

std::optional<TagEntry> TagEntries::get(std::int64_t tag, Rid rid) {
  if (is_held_) {
    if (const TagEntry* const own = find_own(tag, rid)) return *own;
    const TagEntry* const inherited = find_inherited(tag, rid);
    if (inherited == nullptr) return std::nullopt;
    TagEntry entry = *inherited;
    entry.source = 0;
    return entry;
  }
  Query query = database_.query(
      "SELECT tagtype,srcid,origid,value,mtime FROM tagxref INDEXED BY sqlite_autoindex_tagxref_1 "
      "WHERE rid=?1 AND tagid=?2",
      rid, tag);
  if (!query.step()) return std::nullopt;
  return TagEntry{static_cast<int>(query.integer(0)), query.integer(1), query.integer(2),
                  query.is_null(3) ? std::nullopt : std::optional(std::string(query.text(3))),
                  query.real(4)};
}

void TagEntries::put(std::int64_t tag, Rid rid, const TagEntry& entry) {
  if (is_held_) {
    Own& own = own_[rid];
    const auto position =
        std::ranges::lower_bound(own, tag, {}, [](const auto& each) { return each.first; });
    if (position != own.end() && position->first == tag) {
      position->second = entry;
    } else {
      own.emplace(position, tag, entry);
    }
    return;
  }
  write_row(database_, tag, rid, entry, false);
}

void TagEntries::remove(std::int64_t tag, Rid rid) {
  database_.execute(
      "DELETE FROM tagxref INDEXED BY sqlite_autoindex_tagxref_1 WHERE rid=?1 AND tagid=?2", rid,
      tag);
}

void TagEntries::let_go() {
  is_held_ = false;
  own_.clear();
  artifacts_.clear();
  positions_.clear();
}

void TagEntries::hold() {
  let_go();
  is_held_ = true;
}

const TagEntry* TagEntries::find_own(std::int64_t tag, Rid rid) const {
  const auto own = own_.find(rid);
  if (own == own_.end()) return nullptr;
  const auto found = find_tag(own->second, tag);
  return found == own->second.end() ? nullptr : &found->second;
}

const TagEntry* TagEntries::find_inherited(std::int64_t tag, Rid rid) const {
  const auto position = positions_.find(rid);
  if (position == positions_.end() || !artifacts_[position->second].inherited) return nullptr;
  const Passed& inherited = *artifacts_[position->second].inherited;
  const auto found = find_tag(inherited, tag);
  return found == inherited.end() ? nullptr : found->second;
}

/// Returns the entries that children inherit from an artifact: the propagating entries in INHERITED
/// and OWN. Entries in OWN take precedence.
TagEntries::SharedPassed TagEntries::passed_on(const SharedPassed& inherited, const Own& own) {
  auto passed = std::make_shared<Passed>();
  if (inherited) {
    for (const auto& each : *inherited) {
      if (find_tag(own, each.first) == own.end()) passed->push_back(each);
    }
  }
  for (const auto& [tag, entry] : own) {
    if (entry.type == kPropagatingTag) passed->emplace_back(tag, &entry);
  }
  std::ranges::sort(*passed, {}, [](const auto& each) { return each.first; });
  return passed->empty() ? nullptr : passed;
}

/// Visits parents before children, depth-first.
void TagEntries::walk(Lineage& lineage) {
  struct Descendants {
    SharedPassed passed;
    std::vector<Lineage::Child> children;
    std::size_t next = 0;
  };
  std::vector<Descendants> branches;
  const auto visit = [&](Rid rid, const SharedPassed& inherited) {
    if (!positions_.try_emplace(rid, artifacts_.size()).second) return;
    artifacts_.push_back({rid, inherited});
    const auto own = own_.find(rid);
    branches.push_back(
        {own == own_.end() ? inherited : passed_on(inherited, own->second), lineage.children(rid)});
  };
  const auto visit_tree = [&](Rid root) {
    visit(root, nullptr);
    while (!branches.empty()) {
      Descendants& branch = branches.back();
      if (branch.next == branch.children.size()) {
        branches.pop_back();
        continue;
      }
      const Lineage::Child child = branch.children[branch.next++];
      const SharedPassed passed = branch.passed;
      if (child.is_primary) visit(child.rid, passed);
    }
  };
  std::vector<Rid> roots;
  for (const auto& [rid, own] : own_) roots.push_back(rid);
  for (const ParentLink& link : lineage.primary_links()) {
    if (link.parent != 0) roots.push_back(link.parent);
  }
  std::ranges::sort(roots);
  for (const Rid rid : roots) {
    if (lineage.primary_parent(rid) == 0) visit_tree(rid);
  }
  // Also visit artifacts in cycles of parent links, which cannot be reached from an artifact
  // without a parent.
  for (const Rid rid : roots) {
    if (!positions_.contains(rid)) visit_tree(rid);
  }
}

void TagEntries::write(const TaggedArtifact& artifact) {
  const auto found = own_.find(artifact.rid);
  if (found == own_.end()) {
    if (!artifact.inherited) return;
    for (const auto& [tag, entry] : *artifact.inherited) {
      write_row(database_, tag, artifact.rid, *entry, true);
    }
    return;
  }
  // Merge the inherited entries and the artifact's own entries, which have precedence. The result
  // is sorted by tag, like the index of the table.
  std::map<std::int64_t, std::pair<const TagEntry*, bool>> rows;
  if (artifact.inherited) {
    for (const auto& [tag, entry] : *artifact.inherited) rows[tag] = {entry, true};
  }
  for (const auto& [tag, entry] : found->second) rows[tag] = {&entry, false};
  for (const auto& [tag, row] : rows)
    write_row(database_, tag, artifact.rid, *row.first, row.second);
}

void TagEntries::spread(Lineage& lineage,
                        const std::function<void(std::int64_t tag, Rid rid)>& inherited) {
  walk(lineage);
  std::vector<const TaggedArtifact*> by_rid;
  for (const TaggedArtifact& artifact : artifacts_) by_rid.push_back(&artifact);
  std::ranges::sort(by_rid, {}, [](const TaggedArtifact* artifact) { return artifact->rid; });
  for (const TaggedArtifact* artifact : by_rid) {
    write(*artifact);
    if (!artifact->inherited) continue;
    for (const auto& [tag, entry] : *artifact->inherited) {
      if (find_own(tag, artifact->rid) == nullptr) inherited(tag, artifact->rid);
    }
  }
}

}  // namespace quarry::repository
