// Tags that T cards set on an artifact (`tagxref` with srcid != 0); the latest card counts.
// Inheritance is in tag_propagation.cc.
//
// An artifact's own entry takes precedence over an inherited one, whatever their dates, so that
// nothing depends on the order of arrival.

#include "tags.h"

#include "derived/ancestry/tag_entries.h"

namespace quarry::repository {

using artifact::Structural;
using artifact::TagCard;

void Tags::apply_tags(Rid rid, const Structural& artifact, double day) {
  for (const TagCard& card : artifact.tags) {
    const Rid target = card.target.empty() ? rid : work_.names.need(card.target);
    if (target == 0) continue;
    // On a change of that ticket it is applied in the order of the changes.
    if (card.name.starts_with("tkt-")) {
      work_.pending.stale_tickets.emplace(card.name.substr(4));
    }
    const auto value = card.has_value ? std::optional(card.value) : std::nullopt;
    set_tag(work_.names.tag(card.name), tag_type(card), value, rid, day, target);
  }
}

/// For two cards on TARGET with the same date: whether that of SOURCE comes before that of OTHER.
/// TARGET's own card comes before those of artifacts that refer to it.
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
    // A rebuild fills this table before it processes tags.
    if (!work_.is_quiet) {
      work_.database.execute("DELETE FROM unclustered WHERE rid=?1", target);
    }
  }
  if (tag == kTagParent && reparenting_.reparent(target)) inherit_anew(target);
  work_.pending.note_tag_change(tag, target);
  spread_tag(tag, target);
}

}  // namespace quarry::repository
