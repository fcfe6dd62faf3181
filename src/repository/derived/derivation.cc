#include "derivation.h"

#include <fmt/core.h>

#include <algorithm>

namespace quarry::repository {

using artifact::Structural;
using artifact::StructuralType;

namespace {

/// So many of them at once, and tags are computed anew from all cards rather than card by card.
constexpr std::size_t kManyControls = 64;

}  // namespace

void Derivation::arrived(Rid rid, std::optional<StructuralType> type) {
  if (type != StructuralType::kCheckIn && !expects_everything_) {
    Query children =
        c_.database.query("SELECT 1 FROM plink INDEXED BY sqlite_autoindex_plink_1 WHERE pid=?1");
    if (children.bind(1, rid).step()) strangers_.push_back(rid);
  }
  if (!type) return;
  switch (*type) {
    case StructuralType::kCluster:
      clusters_.push_back(rid);
      return;
    default: {
      const Manifest artifact = c_.manifests.get(rid);
      if (!artifact || !artifact->date) return;
      has_parent_tags_ |= std::ranges::any_of(
          artifact->tags, [](const artifact::TagCard& tag) { return tag.name == "parent"; });
      auto& queue = type == StructuralType::kCheckIn   ? check_ins_
                    : type == StructuralType::kControl ? controls_
                                                       : others_;
      queue.insert(Dated{base::julian_day(*artifact->date), rid});
    }
  }
}

void Derivation::add_other(Rid rid, const Structural& artifact, double day) {
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
void Derivation::refresh_others() {
  refresh_tickets();
  for (const std::int64_t tag : stale_pages_) refresh_wiki_links(tag);
  stale_pages_.clear();
  for (const std::int64_t tag : stale_technotes_) refresh_technote(tag);
  stale_technotes_.clear();
  for (const std::string& target : stale_targets_) refresh_attachments(target);
  stale_targets_.clear();
  refresh_threads();
}

/// What comes of check-ins: parents before children, so that what children inherit is written once.
void Derivation::add_check_ins() {
  while (!check_ins_.empty()) {
    const auto [day, rid] = *check_ins_.begin();
    check_ins_.erase(check_ins_.begin());
    const Manifest manifest = c_.manifests.get(rid);
    if (!manifest) continue;
    collect_relatives(rid);
    note_if_late(rid);
    if (!link_check_in(rid, *manifest)) continue;
    note_put_off(rid);
    make_check_in_event(rid, *manifest);
    apply_tags(rid, *manifest, day);
    if (const Rid parent = lineage_.primary_parent(rid); parent != 0) {
      inherit_tags(rid, parent);
      new_children_.insert(rid);
    }
    reparent(rid);  // by a tag that came before it
  }
}

void Derivation::add_controls_and_others() {
  for (const auto& [day, rid] : controls_) {
    const Manifest control = c_.manifests.get(rid);
    if (!control) continue;
    make_control_event(rid, *control);
    apply_tags(rid, *control, day);
  }
  controls_.clear();
  for (const auto& [day, rid] : others_) {
    if (const Manifest artifact = c_.manifests.get(rid)) add_other(rid, *artifact, day);
  }
  others_.clear();
}

void Derivation::refresh_stale() {
  resolve_cherrypicks();
  for (const Rid rid : stale_mlinks_) compute_mlinks(rid);
  stale_mlinks_.clear();
  resolve_cherrypicks();  // files that the rows above refer to have become known
  for (const Rid rid : stale_events_) refresh_event(rid);
  stale_events_.clear();
  lineage_.read_picks();
  adjust_times();
  for (const Rid rid : stale_leaves_) refresh_leaf(rid);
  stale_leaves_.clear();
  for (const Rid rid : new_children_) outgrow_parents(rid);
  new_children_.clear();
}

void Derivation::run() {
  order_.forget();
  has_search_index_.reset();
  has_alerts_.reset();
  dispute_steps_ = 0;
  looks_everywhere_ = controls_.size() > kManyControls;
  if (expects_everything_ && !has_parent_tags_) begin_whole();
  for (const Rid rid : clusters_) {
    if (const Manifest cluster = c_.manifests.get(rid)) apply_cluster(rid, *cluster);
  }
  clusters_.clear();
  add_check_ins();
  for (const Rid rid : strangers_) collect_children(rid);
  note_reparented();
  strangers_.clear();
  order_.forget();
  add_controls_and_others();
  order_.forget();
  if (is_whole_) write_lineage_and_tags();
  settle_disputes();
  refresh_others();
  refresh_stale();
  if (is_whole_) end_whole();
  has_parent_tags_ = expects_everything_ = false;
}

void Derivation::begin_whole() {
  is_whole_ = true;
  lineage_.hold();
  tags_.hold();
  c_.names.hold();
  order_.hold();
  // event_i1, too: the times of check-ins may be moved.
  for (const char* index :
       {"plink_i2", "tagxref_i1", "mlink_i1", "mlink_i2", "mlink_i3", "mlink_i4", "event_i1"}) {
    drop_index(index);
  }
}

void Derivation::drop_index(const char* name) {
  {
    Query query = c_.database.query("SELECT sql FROM sqlite_schema WHERE type='index' AND name=?1");
    if (!query.bind(1, name).step()) return;
    dropped_indexes_[name] = query.text(0);
  }
  c_.database.execute(fmt::format("DROP INDEX {}", name));
}

void Derivation::make_index(const std::string& name) {
  const auto dropped = dropped_indexes_.extract(name);
  if (dropped) c_.database.execute(dropped.mapped());
}

void Derivation::write_lineage_and_tags() {
  lineage_.write();
  tags_.spread(lineage_, [this](std::int64_t tag, Rid rid) { note_tag_change(tag, rid); });
  make_index("plink_i2");
  make_index("tagxref_i1");
}

void Derivation::end_whole() {
  while (!dropped_indexes_.empty()) make_index(dropped_indexes_.begin()->first);
  is_whole_ = false;
  lineage_.let_go();
  tags_.let_go();
  order_.let_go();
  c_.names.forget_all();
}

void Derivation::forget_pending() {
  hidden_.clear();
  strangers_.clear();
  clusters_.clear();
  check_ins_.clear();
  controls_.clear();
  others_.clear();
  stale_pages_.clear();
  stale_technotes_.clear();
  stale_targets_.clear();
  stale_tickets_.clear();
  stale_threads_.clear();
  stale_mlinks_.clear();
  stale_events_.clear();
  stale_comments_.clear();
  stale_leaves_.clear();
  disputed_.clear();
  late_.clear();
  put_off_.clear();
  new_children_.clear();
  stale_times_.clear();
  has_parent_tags_ = expects_everything_ = is_whole_ = false;
  dropped_indexes_.clear();
  lineage_.let_go();
  tags_.let_go();
  order_.let_go();
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
