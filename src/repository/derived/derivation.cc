#include "derivation.h"

#include <fmt/core.h>

#include "derivation_run.h"

namespace quarry::repository {

using artifact::Structural;
using artifact::StructuralType;

void Derivation::arrived(Rid rid, std::optional<StructuralType> type) {
  if (type != StructuralType::kCheckIn && !pending_.is_everything) {
    Query children = context_.database.query(
        "SELECT 1 FROM plink INDEXED BY sqlite_autoindex_plink_1 WHERE pid=?1");
    if (children.bind(1, rid).step()) pending_.strangers.push_back(rid);
  }
  if (!type) return;
  if (*type == StructuralType::kCluster) {
    pending_.clusters.push_back(rid);
    return;
  }
  const Manifest artifact = context_.manifests.get(rid);
  if (artifact && artifact->date) pending_.add(rid, *artifact);
}

void Derivation::run() {
  const std::vector<Rid> hidden =
      DerivationRun(context_, std::exchange(pending_, {}), is_quiet_).run();
  hidden_.insert(hidden_.end(), hidden.begin(), hidden.end());
}

void Derivation::forget_pending() {
  pending_ = {};
  hidden_.clear();
}

void DerivationRun::add_other(Rid rid, const Structural& artifact, double day) {
  switch (artifact.type) {
    case StructuralType::kWiki:
      return add_wiki_page(rid, artifact, day);
    case StructuralType::kTechnote:
      return add_technote(rid, artifact, day);
    case StructuralType::kAttachment:
      return add_attachment(rid, artifact);
    case StructuralType::kTicketChange:
      return add_ticket_change(rid, artifact, day);
    case StructuralType::kForumPost:
      return add_forum_post(rid, artifact);
    default:
      return;
  }
}

/// What several artifacts say of one thing: a page, a ticket, a thread.
void DerivationRun::refresh_others() {
  refresh_tickets();
  for (const std::int64_t tag : work_.pending.stale_pages) refresh_wiki_links(tag);
  for (const std::int64_t tag : work_.pending.stale_technotes) refresh_technote(tag);
  for (const std::string& target : work_.pending.stale_targets) refresh_attachments(target);
  refresh_threads();
}

/// What comes of check-ins: parents before children, so that what children inherit is written once.
void DerivationRun::add_check_ins() {
  while (!work_.pending.check_ins.empty()) {
    const auto [day, rid] = *work_.pending.check_ins.begin();
    work_.pending.check_ins.erase(work_.pending.check_ins.begin());
    const Manifest manifest = work_.manifests.get(rid);
    if (!manifest) continue;
    checkin_links_.collect_relatives(rid);
    disputes_.note_if_late(rid);
    if (!checkin_links_.link_check_in(rid, *manifest)) continue;
    put_off_.note_put_off(rid);
    timeline_.make_check_in_event(rid, *manifest);
    tags_.apply_tags(rid, *manifest, day);
    if (const Rid parent = work_.lineage.primary_parent(rid); parent != 0) {
      tags_.inherit_tags(rid, parent);
      work_.pending.new_children.insert(rid);
    }
    reparenting_.reparent(rid);  // by a tag that came before it
  }
}

void DerivationRun::add_controls_and_others() {
  for (const auto& [day, rid] : work_.pending.controls) {
    const Manifest control = work_.manifests.get(rid);
    if (!control) continue;
    timeline_.make_control_event(rid, *control);
    tags_.apply_tags(rid, *control, day);
  }
  for (const auto& [day, rid] : work_.pending.others) {
    if (const Manifest artifact = work_.manifests.get(rid)) add_other(rid, *artifact, day);
  }
}

void DerivationRun::refresh_stale() {
  checkin_links_.resolve_cherrypicks();
  for (const Rid rid : work_.pending.stale_mlinks) file_links_.compute_mlinks(rid);
  checkin_links_.resolve_cherrypicks();  // files that the rows above refer to have become known
  for (const Rid rid : work_.pending.stale_events) event_tags_.refresh_event(rid);
  work_.lineage.read_picks();
  event_times_.adjust_times();
  for (const Rid rid : work_.pending.stale_leaves) leaves_.refresh_leaf(rid);
  for (const Rid rid : work_.pending.new_children) leaves_.outgrow_parents(rid);
}

std::vector<Rid> DerivationRun::run() {
  if (work_.pending.is_everything && !work_.pending.has_parent_tags) begin_whole();
  for (const Rid rid : work_.pending.clusters) {
    if (const Manifest cluster = work_.manifests.get(rid)) clusters_.apply_cluster(rid, *cluster);
  }
  add_check_ins();
  for (const Rid rid : work_.pending.strangers) checkin_links_.collect_children(rid);
  reparenting_.note_reparented();
  work_.order.forget();
  add_controls_and_others();
  work_.order.forget();
  if (work_.is_whole) write_lineage_and_tags();
  disputes_.settle_disputes();
  refresh_others();
  refresh_stale();
  if (work_.is_whole) end_whole();
  return std::move(work_.pending.hidden);
}

void DerivationRun::begin_whole() {
  work_.is_whole = true;
  work_.lineage.hold();
  work_.tags.hold();
  work_.names.hold();
  work_.order.hold();
  // event_i1, too: the times of check-ins may be moved.
  for (const char* index :
       {"plink_i2", "tagxref_i1", "mlink_i1", "mlink_i2", "mlink_i3", "mlink_i4", "event_i1"}) {
    drop_index(index);
  }
}

void DerivationRun::drop_index(const char* name) {
  {
    Query query =
        work_.database.query("SELECT sql FROM sqlite_schema WHERE type='index' AND name=?1");
    if (!query.bind(1, name).step()) return;
    dropped_indexes_[name] = query.text(0);
  }
  work_.database.execute(fmt::format("DROP INDEX {}", name));
}

void DerivationRun::make_index(const std::string& name) {
  const auto dropped = dropped_indexes_.extract(name);
  if (dropped) work_.database.execute(dropped.mapped());
}

void DerivationRun::write_lineage_and_tags() {
  work_.lineage.write();
  work_.tags.spread(work_.lineage,
                    [this](std::int64_t tag, Rid rid) { work_.pending.note_tag_change(tag, rid); });
  make_index("plink_i2");
  make_index("tagxref_i1");
}

void DerivationRun::end_whole() {
  while (!dropped_indexes_.empty()) make_index(dropped_indexes_.begin()->first);
  work_.is_whole = false;
  work_.lineage.let_go();
  work_.tags.let_go();
  work_.order.let_go();
  work_.names.forget_all();
}

void clear_derived(Database& database) {
  database.execute(
      "DELETE FROM mlink; DELETE FROM plink; DELETE FROM leaf; DELETE FROM event;"
      "DELETE FROM tagxref;"
      "DELETE FROM cherrypick; DELETE FROM backlink; DELETE FROM orphan; DELETE FROM phantom;"
      "DELETE FROM attachment;"
      "DELETE FROM unclustered;"
      "INSERT INTO unclustered SELECT rid FROM blob"
      " WHERE rid NOT IN (SELECT rid FROM private);"
      "INSERT INTO phantom SELECT rid FROM blob WHERE size<0");
  for (const char* table : {"forumpost", "ticket", "ticketchng"}) {
    if (database.has_table(table)) database.execute(fmt::format("DELETE FROM {}", table));
  }
}

}  // namespace quarry::repository
