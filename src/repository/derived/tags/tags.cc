// Tags that T cards set on an artifact (`tagxref` with srcid != 0). The latest card takes effect.
//
// Inherited entries (srcid == 0): descendants along primary parents inherit the tag from the
// check-in with the card (origid). On the path to a descendant, each check-in must have a
// propagating entry (tagtype 2).
//
// An artifact's own entry always takes precedence over an inherited entry, independent of the
// dates. Therefore, the result does not depend on the order of arrival.

#include "tags.h"

#include <algorithm>

#include "derived/ancestry/tag_entries.h"

namespace quarry::repository {

using artifact::Structural;
using artifact::TagCard;

void Tags::apply_tags(Rid rid, const Structural& artifact, double day) {
  for (const TagCard& card : artifact.tags) {
    const Rid target = card.target.empty() ? rid : work_.names.need(card.target);
    if (target == 0) continue;
    // `tkt-` tags on ticket changes take effect in the order of the changes, so the whole ticket is
    // recomputed.
    if (card.name.starts_with("tkt-")) {
      work_.pending.stale_tickets.emplace(card.name.substr(4));
    }
    const auto value = card.has_value ? std::optional(card.value) : std::nullopt;
    set_tag(work_.names.tag(card.name), tag_type(card), value, rid, day, target);
  }
}

/// Returns whether the card of SOURCE comes before the card of OTHER. Both cards set a tag on
/// TARGET and have the same date. The card of TARGET itself comes first.
bool Tags::comes_first(Rid source, Rid other, Rid target) {
  if (other == target || source == other) return false;
  return source == target || work_.order.before(source, other);
}

void Tags::set_tag(std::int64_t tag, int type, std::optional<std::string_view> value, Rid source,
                   double day, Rid target) {
  const std::optional<TagEntry> present = work_.tags.get(tag, target);
  if (present && present->source != 0) {
    if (present->day > day) return;
    if (present->day == day && !comes_first(source, present->source, target)) return;
  }
  const auto text = value ? std::optional(std::string(*value)) : std::nullopt;
  work_.tags.put(tag, target, TagEntry{type, source, target, text, day});
  if (tag == kTagPrivate) {
    work_.database.execute("INSERT OR IGNORE INTO private(rid) VALUES(?1)", target);
    if (work_.database.changes() > 0) work_.pending.hidden.push_back(target);
    // During a rebuild, keep the row, as fossil does: fossil's rebuild fills `unclustered` before
    // it processes tags.
    if (!work_.is_quiet) {
      work_.database.execute("DELETE FROM unclustered WHERE rid=?1", target);
    }
  }
  if (tag == kTagParent && reparenting_.reparent(target)) inherit_anew(target);
  work_.pending.note_tag_change(tag, target);
  spread_tag(tag, target);
}

void Tags::inherit_tags(Rid rid, Rid parent) {
  if (work_.tags.is_held()) return;  // spread() does this for all artifacts together
  work_.database.execute(
      "INSERT OR IGNORE INTO tagxref(tagid,tagtype,srcid,origid,value,mtime,rid)"
      " SELECT tagid,2,0,origid,value,mtime,?1 FROM tagxref INDEXED BY "
      "sqlite_autoindex_tagxref_1 WHERE rid=?2 AND tagtype=2",
      rid, parent);
  if (work_.database.changes() == 0) return;
  const bool has_children =
      std::ranges::any_of(work_.lineage.children(rid), &Lineage::Child::is_primary);
  const std::vector<Rid> inherited = work_.database.integers(
      "SELECT tagid FROM tagxref INDEXED BY sqlite_autoindex_tagxref_1 WHERE rid=?1 AND srcid=0",
      rid);
  for (const std::int64_t tag : inherited) {
    work_.pending.note_tag_change(tag, rid);
    if (has_children) spread_tag(tag, rid);
  }
}

void Tags::inherit_anew(Rid rid) {
  const Rid parent = work_.lineage.primary_parent(rid);
  const std::vector<Rid> concerned = work_.database.integers(
      "SELECT tagid FROM tagxref INDEXED BY sqlite_autoindex_tagxref_1 WHERE rid=?1 AND srcid=0"
      " UNION SELECT tagid FROM tagxref INDEXED BY sqlite_autoindex_tagxref_1"
      " WHERE rid=?2 AND tagtype=2",
      rid, parent);
  for (const std::int64_t tag : concerned) {
    if (parent != 0) {
      spread_tag(tag, parent);
      continue;
    }
    // The tag `parent` of this check-in was cancelled, and the manifest does not name any parents.
    // Remove the entry for TAG, which the check-in had inherited.
    work_.tags.remove(tag, rid);
    work_.pending.note_tag_change(tag, rid);
    spread_tag(tag, rid);
  }
}

/// Updates the descendants of FROM according to its entry for TAG.
void Tags::spread_tag(std::int64_t tag, Rid from) {
  if (work_.tags.is_held()) return;  // spread() does this for all artifacts together
  std::vector<Rid> todo{from};
  while (!todo.empty()) {
    const Rid parent = todo.back();
    todo.pop_back();
    std::vector<Lineage::Child> children = work_.lineage.children(parent);
    std::erase_if(children, [](const Lineage::Child& child) { return !child.is_primary; });
    if (children.empty()) continue;
    std::optional<TagEntry> wanted = work_.tags.get(tag, parent);
    if (wanted && wanted->type != kPropagatingTag) wanted.reset();
    if (wanted) wanted->source = 0;
    for (const auto& [child, is_primary] : children) {
      const std::optional<TagEntry> present = work_.tags.get(tag, child);
      if ((present && present->source != 0) || present == wanted) continue;
      if (wanted) {
        work_.tags.put(tag, child, *wanted);
      } else {
        work_.tags.remove(tag, child);
      }
      work_.pending.note_tag_change(tag, child);
      todo.push_back(child);
    }
  }
}

}  // namespace quarry::repository
