#include "put_off.h"

#include <fmt/core.h>

#include <optional>
#include <vector>

namespace quarry::repository {

using artifact::StructuralType;

/// A rebuild looks at the check-in RID at another time than before.
void PutOff::note_documents_below(Rid rid) {
  for (const Lineage::Child child : work_.lineage.children(rid)) {
    if (work_.lineage.is_check_in(child.rid)) continue;
    work_.pending.stale_mlinks.insert(child.rid);
    work_.pending.stale_times.insert(child.rid);
  }
}

/// A rebuild looks at RID, a document perhaps, at another time than before.
void PutOff::note_moved_document(Rid rid) {
  // Most are, and need not be read.
  if (work_.lineage.is_check_in(rid)) return;
  const Manifest document = work_.manifests.get(rid);
  if (!document) return;
  if (document->type == StructuralType::kWiki) {
    work_.pending.stale_pages.insert(work_.names.tag(fmt::format("wiki-{}", document->wiki_title)));
  } else if (document->type == StructuralType::kTechnote) {
    work_.pending.stale_technotes.insert(
        work_.names.tag(fmt::format("event-{}", document->technote_id)));
    work_.pending.stale_targets.insert(std::string(document->technote_id));
  }
}

void PutOff::note_put_off(Rid rid) {
  if (work_.is_whole) return;
  std::vector<Rid> todo{rid};
  while (!todo.empty()) {
    const Rid child = todo.back();
    todo.pop_back();
    std::optional<Rid> whole;
    for (const Rid parent : work_.lineage.parents(child)) {
      // Only what is stored whole can be made a delta. Above what was put off before, all is known.
      if (put_off_.contains(parent) || work_.order.is_delta(parent)) continue;
      if (!whole) whole = work_.order.whole(child);
      if (parent < *whole) continue;
      put_off_.insert(parent);
      for (const Rid moved : work_.order.made_from(parent)) {
        work_.pending.late.insert(moved);
        work_.pending.stale_times.insert(
            moved);  // its parents' times are by the child that is looked at last
        events_.note_earlier_tags(moved);
        note_documents_below(moved);
        note_moved_document(moved);
        todo.push_back(moved);
      }
    }
  }
}

}  // namespace quarry::repository
