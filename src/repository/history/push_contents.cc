#include "quarry/repository/push_contents.h"

#include <algorithm>
#include <map>
#include <unordered_map>

#include "derived/ancestry/tag_entries.h"
#include "quarry/artifact/structural.h"
#include "timeline_rows.h"

namespace quarry::repository {

using artifact::HashName;

namespace {

constexpr std::string_view kSymbolic = "sym-";
// Maximum size in bytes of a control artifact that is read.
constexpr std::int64_t kMaxControl = std::int64_t{64} << 10;
// Maximum number of earlier targets of a tag that are skipped because they are not public.
constexpr int kMaxHidden = 20;

struct PushedRow {
  Rid rid;
  std::int64_t time;  // displayed time
  std::string branch;
};

class PushReader {
 public:
  explicit PushReader(RepositoryState& state) : state_(state) {}

  PushContents read(const std::vector<Rid>& artifacts) {
    for (const Rid rid : artifacts) add(rid);
    std::ranges::sort(check_ins_, [](const PushedRow& a, const PushedRow& b) {
      return a.time != b.time ? a.time < b.time : a.rid < b.rid;
    });
    for (const PushedRow& row : check_ins_) branches_.emplace(row.rid, &row.branch);
    add_branches();
    for (const PushedRow& row : check_ins_) add_own_tags(row.rid);
    for (const Rid rid : controls_) add_control(rid);
    list_check_ins();
    return std::move(push_);
  }

 private:
  void add(Rid rid) {
    const auto name = HashName::parse(state_.names.hash_of(rid));
    if (!name) return;
    if (push_.artifacts++ == 0) push_.first = name->str();
    const auto entry = timeline_entry(state_, rid, *name);
    const ArtifactKind kind = kind_of(state_, rid, entry);
    push_.kinds.insert(kind);
    if (kind == ArtifactKind::kCheckIn) return add_check_in(rid, *entry);
    if (kind == ArtifactKind::kData || kind == ArtifactKind::kCluster) return;
    ++push_.others;
    if (push_.other_artifacts.size() == kMaxPushedOthers) {
      push_.is_truncated = true;
      return;
    }
    const std::int64_t size =
        state_.database.first_integer("SELECT size FROM blob WHERE rid=?1", rid);
    push_.other_artifacts.push_back(describe(state_, rid, *name, size));
    if (kind == ArtifactKind::kControl && size <= kMaxControl) controls_.push_back(rid);
  }

  void add_check_in(Rid rid, const TimelineEntry& entry) {
    ++push_.check_ins;
    check_ins_.push_back({rid, entry.time.value, entry.branch});
    // The branch is unknown while the check-ins before this one are missing.
    if (entry.branch.empty()) return;
    if (push_.branches.size() < kMaxPushed) push_.branches.insert(entry.branch);
  }

  std::optional<HashName> shown_name(Rid rid) {
    const auto name = HashName::parse(state_.names.hash_of(rid));
    return name && is_shown(state_, rid, name->str()) ? name : std::nullopt;
  }

  Rid primary_parent(Rid rid) {
    return state_.database.first_integer(
        "SELECT pid FROM plink INDEXED BY plink_i2 WHERE cid=?1 AND isprim", rid);
  }

  std::string branch_of(Rid rid) {
    return state_.database.first_text(
        "SELECT value FROM tagxref INDEXED BY sqlite_autoindex_tagxref_1"
        " WHERE rid=?1 AND tagid=8 AND tagtype>0",
        rid);
  }

  void add_name(MovedName name) {
    const auto at = std::ranges::find_if(push_.names, [&](const MovedName& each) {
      return each.is_branch == name.is_branch && each.name == name.name;
    });
    if (at != push_.names.end()) {
      at->after = name.after;
    } else if (push_.names.size() < kMaxPushedOthers) {
      push_.names.push_back(std::move(name));
    } else {
      push_.is_truncated = true;
    }
  }

  /// Adds each branch of the check-ins, with its newest check-in that does not have a child on the
  /// branch.
  void add_branches() {
    std::unordered_map<Rid, Rid> parents;
    std::set<Rid> with_child;
    for (const PushedRow& row : check_ins_) {
      const Rid parent = primary_parent(row.rid);
      parents.emplace(row.rid, parent);
      const auto at = branches_.find(parent);
      if (at != branches_.end() && *at->second == row.branch) with_child.insert(parent);
    }
    std::set<std::string_view> seen;
    for (auto row = check_ins_.rbegin(); row != check_ins_.rend(); ++row) {
      if (row->branch.empty() || with_child.contains(row->rid)) continue;
      if (!seen.insert(row->branch).second) continue;
      Rid at = row->rid;
      // Tags that set parents can make circles, so the number of steps is limited.
      for (std::size_t i = 0; i < check_ins_.size(); ++i) {
        const auto branch = branches_.find(at);
        if (branch == branches_.end() || *branch->second != row->branch) break;
        at = parents[at];
      }
      MovedName moved{.is_branch = true, .name = row->branch, .after = shown_name(row->rid)};
      if (at != 0 && !branches_.contains(at) && branch_of(at) == row->branch) {
        moved.before = shown_name(at);
      }
      add_name(std::move(moved));
    }
  }

  /// Adds the tags in the check-in's own manifest that descendants do not inherit.
  void add_own_tags(Rid rid) {
    Query tags = state_.database.query(
        "SELECT (SELECT tagname FROM tag WHERE tagid=tagxref.tagid)"
        " FROM tagxref INDEXED BY sqlite_autoindex_tagxref_1"
        " WHERE rid=?1 AND tagtype=1 AND srcid=?1",
        rid);
    while (tags.step()) {
      const std::string tag(tags.text(0));
      if (tag.starts_with(kSymbolic)) set_tag(tag, rid);
    }
  }

  void set_tag(const std::string& tag, Rid target) {
    const auto after = shown_name(target);
    if (!after) return;
    MovedName moved{.name = tag.substr(kSymbolic.size()), .after = after};
    Query earlier = state_.database.query(
        "SELECT rid FROM tagxref INDEXED BY tagxref_i1"
        " WHERE tagid=?1 AND tagtype>0 AND rid<>?2 ORDER BY mtime DESC",
        state_.names.find_tag(tag), target);
    for (int i = 0; i < kMaxHidden && !moved.before && earlier.step(); ++i) {
      moved.before = shown_name(earlier.integer(0));
    }
    add_name(std::move(moved));
  }

  /// Adds the tags and branches that the control artifact RID sets or cancels.
  void add_control(Rid rid) {
    const Manifest manifest = state_.manifests.get(rid);
    if (!manifest || manifest->type != artifact::StructuralType::kControl) return;
    for (const artifact::TagCard& card : manifest->tags) {
      if (!card.name.starts_with(kSymbolic) || card.target.empty()) continue;
      const Rid target = state_.names.find(card.target);
      const auto name = shown_name(target);
      if (!name) continue;
      const std::string tag(card.name);
      if (tag_type(card) == kSingleTag) {
        set_tag(tag, target);
        continue;
      }
      const bool is_branch = tag_type(card) == kPropagatingTag;
      MovedName moved{.is_branch = is_branch, .name = tag.substr(kSymbolic.size())};
      (is_branch ? moved.after : moved.before) = name;
      add_name(std::move(moved));
    }
  }

  /// Lists the newest check-ins, up to the limits.
  void list_check_ins() {
    std::size_t bytes = 0;
    for (auto row = check_ins_.rbegin(); row != check_ins_.rend(); ++row) {
      if (push_.listed.size() == kMaxPushed || bytes >= kMaxPushedText) {
        push_.is_truncated = true;
        break;
      }
      const auto name = HashName::parse(state_.names.hash_of(row->rid));
      auto entry = name ? timeline_entry(state_, row->rid, *name) : std::nullopt;
      if (!entry) continue;
      std::vector<HashName> parents = parents_of(row->rid);
      bytes += entry->comment.size() + entry->branch.size() + entry->user.size();
      bytes += parents.size() * name->str().size();
      push_.listed.push_back({std::move(*entry), std::move(parents), files_of(row->rid, bytes)});
    }
    std::ranges::reverse(push_.listed);
  }

  std::vector<HashName> parents_of(Rid rid) {
    std::vector<HashName> parents;
    Query rows = state_.database.query(
        "SELECT pid FROM plink INDEXED BY plink_i2 WHERE cid=?1 ORDER BY isprim DESC, pid", rid);
    while (parents.size() < kMaxPushedFiles && rows.step()) {
      const auto name = HashName::parse(state_.names.hash_of(rows.integer(0)));
      if (name && is_public(state_, rows.integer(0), name->str())) parents.push_back(*name);
    }
    return parents;
  }

  ChangedFiles files_of(Rid rid, std::size_t& bytes) {
    ChangedFiles files;
    Query rows = state_.database.query(
        "SELECT fid, pid, (SELECT name FROM filename WHERE fnid=mlink.fnid),"
        " (SELECT name FROM filename WHERE fnid=pfnid)"
        " FROM mlink INDEXED BY mlink_i1 WHERE mid=?1 AND NOT isaux",
        rid);
    for (; rows.step(); ++files.count) {
      if (files.count >= kMaxPushedFiles || bytes >= kMaxPushedText) {
        push_.is_truncated = true;
        continue;
      }
      std::string name(rows.text(2));
      bytes += name.size() + rows.text(3).size();
      if (!rows.is_null(3)) {
        files.renamed.emplace_back(rows.text(3), std::move(name));
      } else if (rows.integer(0) == 0) {
        files.removed.push_back(std::move(name));
      } else {
        (rows.integer(1) > 0 ? files.modified : files.added).push_back(std::move(name));
      }
    }
    // The old name of a renamed file has a row of its own.
    for (const auto& [from, to] : files.renamed) files.count -= std::erase(files.removed, from);
    for (auto* names : {&files.added, &files.modified, &files.removed}) std::ranges::sort(*names);
    std::ranges::sort(files.renamed);
    return files;
  }

  RepositoryState& state_;
  PushContents push_;
  std::vector<PushedRow> check_ins_;                      // oldest first
  std::unordered_map<Rid, const std::string*> branches_;  // branches of the check-ins in the push
  std::vector<Rid> controls_;
};

}  // namespace

Result<PushContents> push_contents(Repository& repository, const std::vector<Rid>& artifacts) {
  return guarded(repository.internals(),
                 [&](RepositoryState& state) { return PushReader(state).read(artifacts); });
}

}  // namespace quarry::repository
