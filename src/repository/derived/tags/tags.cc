// Tags: what T cards put on an artifact, and what its descendants inherit.
//
//   tagxref.srcid != 0   put there by a T card of srcid: the latest such card counts
//   tagxref.srcid == 0   inherited along primary parents from origid, as long as each check-in on
//                        the way has a propagating entry (tagtype 2)
//
// An entry of its own wins here over an inherited one, whatever their dates, and then nothing
// depends on the order of arrival. In a rebuild a card loses where it meets something inherited
// that is not older; tag_disputes.cc finds the tags where that can be, and computes them anew.

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
    const auto value = card.has_value ? std::optional(card.value) : std::nullopt;
    set_tag(work_.names.tag(card.name), tag_type(card), value, rid, day, target);
  }
}

void Tags::set_tag(std::int64_t tag, int type, std::optional<std::string_view> value, Rid source,
                   double day, Rid target) {
  const std::optional<TagEntry> present = work_.tags.get(tag, target);
  if (source != target) disputes_.look_for_dispute(tag, {type, source, target, {}, day}, present);
  if (present && present->source != 0) {
    if (present->day > day) return;
    if (present->day == day && !work_.order.before(source, present->source)) return;
  }
  const auto text = value ? std::optional(std::string(*value)) : std::nullopt;
  work_.tags.put(tag, target, TagEntry{type, source, target, text, day});
  if (tag == kTagPrivate) {
    work_.database.query("INSERT OR IGNORE INTO private(rid) VALUES(?1)").bind(1, target).run();
    if (work_.database.changes() > 0) work_.pending.hidden.push_back(target);
    // A rebuild fills this table before it looks at tags.
    if (!work_.is_quiet) {
      work_.database.query("DELETE FROM unclustered WHERE rid=?1").bind(1, target).run();
    }
  }
  if (tag == kTagParent) reparenting_.reparent(target);
  work_.pending.note_tag_change(tag, target);
  spread_tag(tag, target);
}

void Tags::inherit_tags(Rid rid, Rid parent) {
  if (work_.tags.is_held()) return;  // all at once
  work_.database
      .query(
          "INSERT OR IGNORE INTO tagxref(tagid,tagtype,srcid,origid,value,mtime,rid)"
          " SELECT tagid,2,0,origid,value,mtime,?1 FROM tagxref INDEXED BY "
          "sqlite_autoindex_tagxref_1 WHERE rid=?2 AND tagtype=2")
      .bind(1, rid)
      .bind(2, parent)
      .run();
  if (work_.database.changes() == 0) return;
  const bool has_children =
      std::ranges::any_of(work_.lineage.children(rid), &Lineage::Child::is_primary);
  std::vector<std::int64_t> inherited;
  {
    Query query = work_.database.query(
        "SELECT tagid FROM tagxref INDEXED BY sqlite_autoindex_tagxref_1 WHERE rid=?1 AND srcid=0");
    query.bind(1, rid);
    while (query.step()) inherited.push_back(query.integer(0));
  }
  for (const std::int64_t tag : inherited) {
    work_.pending.note_tag_change(tag, rid);
    if (has_children) spread_tag(tag, rid);
  }
}

/// Brings the descendants of FROM in line with its entry for TAG.
void Tags::spread_tag(std::int64_t tag, Rid from) {
  if (work_.tags.is_held()) return;  // all at once
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
