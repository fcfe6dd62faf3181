#include "rebuild_deltas.h"

#include <algorithm>
#include <iterator>

#include "quarry/artifact/delta.h"
#include "quarry/artifact/structural.h"

namespace quarry::repository {
namespace {

constexpr std::size_t kSmallest = 50;

}  // namespace

std::vector<Rid> RebuildDeltas::tried_with(Rid rid) {
  std::vector<Rid> found = lineage_.parents(rid);
  if (!lineage_.is_check_in(rid)) return found;
  std::ranges::copy(lineage_.picked_for(rid), std::back_inserter(found));
  if (lineage_.baseline(rid) != 0) return found;
  for (std::size_t i = found.size(); i-- > 0;) {
    if (const Rid baseline = lineage_.baseline(found[i]); baseline != 0) found.push_back(baseline);
  }
  return found;
}

/// Whether a rebuild compares a check-in that names RID for a parent with it: what is plain data, or
/// waits for its baseline, has no files.
bool RebuildDeltas::has_files(Rid rid) {
  if (lineage_.is_check_in(rid) || tags_.is_document(rid)) return true;
  const auto content = contents_.get(rid);
  if (!content) return false;
  const auto parsed = artifact::parse_structural(**content);
  return parsed && parsed->type != artifact::StructuralType::kCheckIn;
}

/// Whether CHILD's parents are looked at when it is.
bool RebuildDeltas::is_compared(const Lineage::Child& child) {
  if (!lineage_.is_check_in(child.rid)) return false;
  return child.is_primary || has_files(lineage_.primary_parent(child.rid));
}

/// The check-ins that have a baseline, or none, and RID for a parent, or picked it.
std::vector<Rid> RebuildDeltas::compared_with(Rid rid, bool has_baseline) {
  std::vector<Lineage::Child> children = lineage_.children(rid);
  for (const Rid picker : lineage_.picked_by(rid)) {
    children.push_back({picker, false, lineage_.baseline(picker)});
  }
  if (children.empty() || !has_files(rid)) return {};
  std::vector<Rid> found;
  for (const Lineage::Child& child : children) {
    if ((child.baseline != 0) == has_baseline && is_compared(child)) found.push_back(child.rid);
  }
  return found;
}

std::vector<Rid> RebuildDeltas::tried_for(Rid rid) {
  std::vector<Rid> found = compared_with(rid, lineage_.baseline(rid) != 0);
  for (const Lineage::Child& child : lineage_.children(rid)) {
    if (child.is_primary && tags_.is_document(child.rid)) found.push_back(child.rid);
  }
  if (!lineage_.is_check_in(rid) || lineage_.baseline(rid) != 0) return found;
  for (const Rid with_baseline : lineage_.made_with(rid)) {
    std::ranges::copy(compared_with(with_baseline, false), std::back_inserter(found));
  }
  return found;
}

std::vector<Rid> RebuildDeltas::not_older(Rid rid) {
  if (!tags_.is_document(rid) || tags_.is_collecting()) return {};
  std::vector<Rid> found;
  Query query = database_.query(
      "SELECT v.rid FROM tagxref AS t INDEXED BY sqlite_autoindex_tagxref_1"
      " CROSS JOIN tagxref AS v INDEXED BY tagxref_i1"
      " ON v.tagid=t.tagid AND v.mtime>=t.mtime AND v.rid<>t.rid"
      " WHERE t.rid=?1 AND t.srcid=?1 AND EXISTS(SELECT 1 FROM tag"
      "  WHERE tagid=t.tagid AND tagname GLOB 'event-*') ORDER BY v.mtime");
  query.bind(1, rid);
  while (query.step()) found.push_back(query.integer(0));
  return found;
}

bool RebuildDeltas::is_tried(Rid rid, Rid source) {
  Query hidden =
      database_.query("SELECT 1 FROM private WHERE rid=?1 AND ?2 NOT IN (SELECT rid FROM private)");
  if (hidden.bind(1, source).bind(2, rid).step()) return false;
  const auto content = contents_.get(rid);
  return content && (*content)->size() >= kSmallest;
}

bool RebuildDeltas::is_worth_it(Rid rid, Rid source) {
  if (!is_tried(rid, source)) return false;
  const auto content = contents_.get(rid), from = contents_.get(source);
  if (!content || !from || (*from)->size() < kSmallest) return false;
  return artifact::fossil_delta_size(**from, **content) * 4 < (*content)->size() * 3;
}

}  // namespace quarry::repository
