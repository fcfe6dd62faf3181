#include "derivation.h"

#include <fmt/core.h>

#include "bulk_load.h"
#include "derived/checkins/checkin_links.h"
#include "derived/checkins/file_links.h"
#include "derived/checkins/leaves.h"
#include "derived/checkins/reparenting.h"
#include "derived/common/events.h"
#include "derived/documents/attachments.h"
#include "derived/documents/document_links.h"
#include "derived/documents/forum.h"
#include "derived/documents/pages.h"
#include "derived/documents/tickets.h"
#include "derived/tags/tags.h"
#include "derived/timeline/event_tags.h"
#include "derived/timeline/event_times.h"
#include "derived/timeline/timeline.h"

namespace quarry::repository {

using artifact::Structural;
using artifact::StructuralType;

namespace {

/// One run over the pending work. It owns the parts and defines the order of the work. Each part
/// calls only parts that are declared before it.
class DerivationRun {
 public:
  DerivationRun(const DerivationContext& context, Pending&& pending, bool is_quiet)
      : work_(context, std::move(pending), is_quiet) {}

  /// Updates all derived tables. Returns the artifacts that a tag has made private. Throws
  /// SqliteError.
  std::vector<Rid> run();

 private:
  void add_cluster(Rid rid, const artifact::Structural& cluster);
  void add_other(Rid rid, const artifact::Structural& artifact, double day);
  void refresh_others();
  void add_check_ins();
  void add_controls_and_others();
  void refresh_stale();

  Work work_;
  BulkLoad bulk_load_{work_};
  Events events_{work_};
  CheckinLinks checkin_links_{work_};
  Reparenting reparenting_{work_, checkin_links_};
  FileLinks file_links_{work_, reparenting_};
  EventTimes event_times_{work_, file_links_, events_};
  EventTags event_tags_{work_, event_times_};
  Timeline timeline_{work_, events_};
  Leaves leaves_{work_};
  Tags tags_{work_, reparenting_};
  DocumentLinks document_links_{work_, checkin_links_, tags_};
  Pages pages_{work_, events_, tags_, document_links_};
  Attachments attachments_{work_, events_};
  Tickets tickets_{work_, events_, tags_};
  Forum forum_{work_, events_, document_links_};
};

/// Sets the tag of the cluster, and removes its members from `unclustered`: sync sessions announce
/// only the cluster.
void DerivationRun::add_cluster(Rid rid, const Structural& cluster) {
  // A cluster does not have a date. As in fossil, the date of its tag is the time of processing.
  tags_.set_tag(kTagCluster, 1, std::nullopt, rid, base::julian_day(work_.clock.now()), rid);
  for (const std::string_view member : cluster.members) {
    work_.database.execute("DELETE FROM unclustered WHERE rid=?1", work_.names.need(member));
  }
}

void DerivationRun::add_other(Rid rid, const Structural& artifact, double day) {
  switch (artifact.type) {
    case StructuralType::kWiki:
      return pages_.add_wiki_page(rid, artifact, day);
    case StructuralType::kTechnote:
      return pages_.add_technote(rid, artifact, day);
    case StructuralType::kAttachment:
      return attachments_.add_attachment(rid, artifact);
    case StructuralType::kTicketChange:
      return tickets_.add_ticket_change(rid, artifact, day);
    case StructuralType::kForumPost:
      return forum_.add_forum_post(rid, artifact);
    default:
      return;
  }
}

/// Recomputes rows that depend on several artifacts: pages, technotes, attachments, tickets and
/// threads.
void DerivationRun::refresh_others() {
  tickets_.refresh_tickets();
  for (const std::int64_t tag : work_.pending.stale_pages) pages_.refresh_wiki_links(tag);
  for (const std::int64_t tag : work_.pending.stale_technotes) pages_.refresh_technote(tag);
  for (const std::string& target : work_.pending.stale_targets)
    attachments_.refresh_attachments(target);
  forum_.refresh_threads();
}

/// Adds check-ins, parents before children, so that inherited tags are written only once.
void DerivationRun::add_check_ins() {
  while (!work_.pending.check_ins.empty()) {
    const auto [day, rid] = *work_.pending.check_ins.begin();
    work_.pending.check_ins.erase(work_.pending.check_ins.begin());
    const Manifest manifest = work_.manifests.get(rid);
    if (!manifest) continue;
    checkin_links_.collect_relatives(rid);
    if (!checkin_links_.link_check_in(rid, *manifest)) continue;
    timeline_.make_check_in_event(rid, *manifest);
    if (!reparenting_.parents_by_tag(rid).empty()) reparenting_.reparent(rid);
    tags_.apply_tags(rid, *manifest, day);
    if (const Rid parent = work_.lineage.primary_parent(rid); parent != 0) {
      tags_.inherit_tags(rid, parent);
      work_.pending.new_children.insert(rid);
    }
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
  checkin_links_.resolve_cherrypicks();  // compute_mlinks() might have added more targets
  for (const Rid rid : work_.pending.stale_events) event_tags_.refresh_event(rid);
  work_.lineage.read_picks();
  event_times_.adjust_times();
  for (const Rid rid : work_.pending.stale_leaves) leaves_.refresh_leaf(rid);
  for (const Rid rid : work_.pending.new_children) leaves_.outgrow_parents(rid);
}

std::vector<Rid> DerivationRun::run() {
  if (work_.pending.is_everything && !work_.pending.has_parent_tags) bulk_load_.begin();
  for (const Rid rid : work_.pending.clusters) {
    if (const Manifest cluster = work_.manifests.get(rid)) add_cluster(rid, *cluster);
  }
  add_check_ins();
  for (const Rid rid : work_.pending.non_check_ins) checkin_links_.collect_children(rid);
  reparenting_.note_reparented();
  add_controls_and_others();
  if (work_.is_whole) bulk_load_.write_lineage_and_tags();
  refresh_others();
  refresh_stale();
  if (work_.is_whole) bulk_load_.end();
  return std::move(work_.pending.hidden);
}

}  // namespace

void Derivation::arrived(Rid rid, std::optional<StructuralType> type) {
  if (type != StructuralType::kCheckIn && !pending_.is_everything) {
    const bool has_children = context_.database.has_row(
        "SELECT 1 FROM plink INDEXED BY sqlite_autoindex_plink_1 WHERE pid=?1", rid);
    if (has_children) pending_.non_check_ins.push_back(rid);
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

void Derivation::setting_changed(std::string_view name) {
  ticket_setting_changed(context_.database, name, pending_);
}

void Derivation::forget_pending() {
  pending_ = {};
  hidden_.clear();
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
