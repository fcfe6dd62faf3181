#include "tree_change.h"

#include <fmt/core.h>

#include <algorithm>
#include <unordered_set>
#include <utility>

#include "quarry/artifact/structural.h"

namespace quarry::changes {

using artifact::HashName;

namespace {

constexpr std::size_t kLongestLink = 4095;  // PATH_MAX
constexpr std::size_t kMaxNamesListed = 10;
constexpr std::size_t kMaxLog = std::size_t{64} << 10;
// Limit on the number of merged lines in all files of a change set. In the worst case, merging this
// number of lines takes half a minute.
constexpr std::size_t kMaxLines = 10 * kMaxLinesMerged;

std::unexpected<LandingError> bad(std::string_view name, std::string_view why) {
  return refuse(RefusalKind::kBadFile, fmt::format("{}: {}", name, why));
}

/// Returns the reason why NAME is not valid, or null if it is valid.
const char* fault_of(std::string_view name) {
  if (name.find('\0') != std::string_view::npos || !artifact::is_simple_path(name)) {
    return "not a valid file name in a repository";
  }
  if (name.size() > kMaxName) return "the name is too long";
  return artifact::is_checkout_database(name) ? "a name reserved by fossil" : nullptr;
}

/// Returns a file in TREE that conflicts with the file NAME: the path of one of them is a folder in
/// the path of the other. Returns nullopt if TREE does not have such a file.
std::optional<std::string> obstacle_of(const FileTree& tree, std::string_view name) {
  for (std::size_t slash = name.find('/'); slash != std::string_view::npos;
       slash = name.find('/', slash + 1)) {
    if (tree.contains(name.substr(0, slash))) return std::string(name.substr(0, slash));
  }
  const std::string folder = std::string(name) + "/";
  const auto inside = tree.lower_bound(folder);
  if (inside != tree.end() && inside->first.starts_with(folder)) return inside->first;
  return std::nullopt;
}

}  // namespace

TreeChange::MaybeFile TreeChange::find(const FileTree& tree, std::string_view name) {
  const auto found = tree.find(name);
  return found == tree.end() ? std::nullopt : MaybeFile(found->second);
}

Attempt<void> TreeChange::check(const ChangedFile& file) const {
  if (const char* const fault = fault_of(file.name)) return bad(file.name, fault);
  if (!file.content) return {};
  if (file.permission != 0 && file.permission != 'x' && file.permission != 'l') {
    return bad(file.name, "neither a file nor a symbolic link");
  }
  if (file.content->size() > max_size_) {
    return bad(file.name, fmt::format("it is {} bytes long; the limit is {}", file.content->size(),
                                      max_size_));
  }
  if (file.permission == 'l' &&
      (file.content->empty() || file.content->size() > kLongestLink ||
       file.content->find_first_of(std::string_view("\0\n", 2)) != std::string::npos)) {
    return bad(file.name, "the target of the symbolic link is invalid");
  }
  // Reject files that could be control artifacts for any version of fossil. A control artifact
  // takes effect when it is stored. For example, it could close a branch, which the right to submit
  // does not permit.
  if (artifact::has_structural_frame(*file.content)) {
    return bad(file.name, "fossil could read its content as a manifest or control artifact");
  }
  return {};
}

/// Returns the name of CONTENT. Unchanged content keeps its name, even if the name uses another
/// hash algorithm.
HashName TreeChange::name_of(const Content& content, const MaybeFile& ours, const MaybeFile& base) {
  for (const MaybeFile& file : {ours, base}) {
    if (file && file->hash.algorithm() != algorithm_ && file->hash.names(*content)) {
      new_contents_.emplace(file->hash, content);
      return file->hash;
    }
  }
  const HashName name = HashName::of(algorithm_, *content);
  new_contents_.emplace(name, content);
  return name;
}

Result<Content> TreeChange::content_of(const MaybeFile& file) {
  if (!file) return nullptr;
  const auto found = new_contents_.find(file->hash);
  return found != new_contents_.end() ? Result<Content>(found->second) : contents_(file->hash);
}

void TreeChange::put(const std::string& name, const MaybeFile& file) {
  touched_.try_emplace(name, find(tree_, name));
  if (file) {
    tree_.insert_or_assign(name, *file);
  } else {
    tree_.erase(name);
    prior_names_.erase(name);
  }
}

/// Applies CHANGES, after setting `ours`, `occupant` and `expected_occupant` in them. `base` in
/// CHANGES must be from the tree BASE.
Attempt<void> TreeChange::merge_all(std::vector<FileChange> changes, const FileTree& base,
                                    const MergeLabels& labels) {
  repository::Renames moved;  // from old names of renamed files to their names in the parent
  for (FileChange& change : changes) {
    change.ours = find(tree_, change.prior.empty() ? change.name : change.prior);
    if (change.prior.empty()) continue;
    change.occupant = find(tree_, change.name);
    change.expected_occupant = find(base, change.name);
    const auto earlier = prior_names_.find(change.prior);
    moved.emplace(change.prior, earlier == prior_names_.end() ? change.prior : earlier->second);
  }
  // Renames can form chains and circles. Therefore, all files are removed from their old names
  // before any file gets its new name.
  for (const auto& [old_name, original] : moved) put(old_name, std::nullopt);
  for (FileChange& change : changes) {
    if (!change.prior.empty()) {
      if (moved.contains(change.name)) change.occupant = change.expected_occupant = std::nullopt;
      const std::string& original = moved.at(change.prior);
      if (original != change.name) prior_names_.insert_or_assign(change.name, original);
    } else if (moved.contains(change.name)) {
      // A renamed file had this name, so the change adds a new file, or changes nothing.
      change.base = change.ours = std::nullopt;
    }
    QUARRY_TRY(merge(change, labels));
  }
  return {};
}

Attempt<void> TreeChange::merge(const FileChange& change, const MergeLabels& labels) {
  const auto& [name, prior, base, ours, theirs, occupant, expected_occupant] = change;
  if (!prior.empty()) {
    if (!ours && occupant == theirs) {
      // The branch has renamed the file in the same way, so there is nothing to do.
      prior_names_.erase(name);
      return {};
    }
    const char* const reason =
        !ours ? "renamed by the change set, but deleted or renamed to another name on the branch"
        : occupant != expected_occupant ? "the branch has added or changed a file with the new name"
                                        : nullptr;
    if (reason != nullptr) {
      conflicts_.push_back({name, {fmt::format("{}: {}", prior, reason), {}}});
      return {};
    }
  }
  if (ours == theirs || theirs == base) {
    if (!prior.empty()) put(name, ours);
    return {};
  }
  if (ours == base) {
    put(name, theirs);
    return {};
  }
  const MaybeFile files[] = {base, ours, theirs};
  Content contents[3];
  MaybeVersion versions[3];
  for (std::size_t i = 0; i < 3; ++i) {
    QUARRY_TRY_ASSIGN(contents[i], content_of(files[i]));
    if (files[i]) versions[i] = FileVersion{*contents[i], files[i]->permission};
  }
  lines_ += static_cast<std::size_t>(versions[1] ? std::ranges::count(*contents[1], '\n') : 0);
  if (lines_ > kMaxLines) {
    return bad(name, fmt::format("the change set has more than {} lines to merge", kMaxLines));
  }
  auto merged = merge_file(versions[0], versions[1], versions[2], labels);
  if (!merged) {
    conflicts_.push_back({name, std::move(merged).error()});
  } else if (!*merged) {
    put(name, std::nullopt);
  } else {
    const auto content = std::make_shared<const std::string>(std::move((*merged)->content));
    if (content->size() > max_size_) return bad(name, "too large after merging");
    if (artifact::has_structural_frame(*content)) {
      return bad(name,
                 "after merging, fossil could read its content as a manifest or control artifact");
    }
    put(name, TreeFile{name_of(content, ours, base), (*merged)->permission});
  }
  return {};
}

/// If the branch has renamed a file in CHANGES, replaces the file's name by its new name.
Attempt<void> TreeChange::follow(std::vector<FileChange>& changes, const RenamesOnBranch& renames) {
  std::optional<repository::Renames> new_names;
  for (FileChange& change : changes) {
    if (!change.base || change.ours) continue;
    if (!new_names) {
      QUARRY_TRY_ASSIGN(new_names, renames());
    }
    const auto found = new_names->find(change.prior.empty() ? change.name : change.prior);
    if (found == new_names->end() || !tree_.contains(found->second)) continue;
    // If the two sides have given the file different names, merge() reports the conflict.
    if (!change.prior.empty() && change.name != found->second) continue;
    change.name = found->second;
    change.prior.clear();
    change.ours = find(tree_, change.name);
  }
  return {};
}

Attempt<void> TreeChange::apply(const std::vector<ChangedFile>& files, const FileTree* base,
                                const RenamesOnBranch& renames, const MergeLabels& labels) {
  const FileTree& from = base != nullptr ? *base : tree_;
  const std::string& from_label = base != nullptr ? labels.base : labels.ours;
  std::unordered_set<std::string_view> names, old_names;
  for (const ChangedFile& file : files) {
    if (!file.prior.empty()) old_names.insert(file.prior);
  }
  std::vector<FileChange> changes;
  changes.reserve(files.size());
  for (const ChangedFile& file : files) {
    QUARRY_TRY(check(file));
    if (!names.insert(file.name).second) return bad(file.name, "it is listed twice");
    const bool is_renamed = !file.prior.empty();
    const std::string& old_name = is_renamed ? file.prior : file.name;
    FileChange change{file.name, file.prior, find(from, old_name), find(tree_, old_name), {}};
    if (is_renamed && (!file.content || !change.base)) {
      return bad(file.name, fmt::format("cannot rename {}: {} does not contain it", file.prior,
                                        file.content ? from_label : labels.theirs));
    }
    if (!file.content && !change.base) {
      return bad(file.name, fmt::format("cannot delete it: {} does not contain it", from_label));
    }
    if (file.content) {
      change.theirs = TreeFile{name_of(file.content, change.ours, change.base), file.permission};
    }
    if (!is_renamed && old_names.contains(file.name)) {
      // The rename frees this name. If FILE has content, it is a new file.
      if (!file.content) continue;
      change.base = std::nullopt;
    }
    changes.push_back(std::move(change));
  }
  if (base != nullptr) QUARRY_TRY(follow(changes, renames));
  return merge_all(std::move(changes), from, labels);
}

Attempt<void> TreeChange::roll_back(const FileTree& after, const FileTree& before,
                                    const repository::Renames& renames, const MergeLabels& labels) {
  std::vector<FileChange> changes;
  const auto add = [&](const std::string& name, const MaybeFile& now, const MaybeFile& then) {
    FileChange change{name, {}, now, {}, then};
    if (const auto renamed = renames.find(name); then && renamed != renames.end()) {
      change.prior = renamed->second;
      change.base = find(after, change.prior);
    }
    changes.push_back(std::move(change));
  };
  auto now = after.begin();
  auto then = before.begin();
  while (now != after.end() || then != before.end()) {
    const bool is_added = then == before.end() || (now != after.end() && now->first < then->first);
    const bool is_removed =
        now == after.end() || (then != before.end() && then->first < now->first);
    if (is_added) {
      add(now->first, now->second, std::nullopt);
    } else if (is_removed) {
      add(then->first, std::nullopt, then->second);
    } else if (now->second != then->second || renames.contains(then->first)) {
      add(then->first, now->second, then->second);
    }
    if (!is_removed) ++now;
    if (!is_added) ++then;
  }
  return merge_all(std::move(changes), after, labels);
}

void TreeChange::find_obstacles() {
  for (const auto& [name, before] : touched_) {
    if (before || !tree_.contains(name)) continue;
    if (const auto obstacle = obstacle_of(tree_, name)) {
      conflicts_.push_back(
          {name, {fmt::format("its path conflicts with the file {}", *obstacle), {}}});
    }
  }
}

/// Returns a single refusal that lists all conflicts.
std::unexpected<LandingError> TreeChange::conflict(const MergeLabels& labels) {
  std::ranges::stable_sort(conflicts_, {}, &Conflict::name);
  std::string names, log;
  for (std::size_t i = 0; i < conflicts_.size(); ++i) {
    const auto& [name, what] = conflicts_[i];
    if (i < kMaxNamesListed) names += fmt::format("{}{}", i == 0 ? "" : ", ", name);
    if (log.size() < kMaxLog) log += fmt::format("{}: {}\n{}", name, what.reason, what.regions);
  }
  if (conflicts_.size() > kMaxNamesListed) names += ", …";
  return refuse(RefusalKind::kConflict,
                fmt::format("{} conflicts with {} in {} file{}: {}", labels.theirs, labels.ours,
                            conflicts_.size(), conflicts_.size() == 1 ? "" : "s", names),
                std::move(log));
}

Attempt<std::vector<TreeChange::Added>> TreeChange::finish(const MergeLabels& labels,
                                                           bool may_be_empty) {
  find_obstacles();
  if (!conflicts_.empty()) return conflict(labels);
  std::vector<Added> added;
  std::unordered_set<HashName> known;
  bool is_changed = may_be_empty || !prior_names_.empty();
  for (const auto& [name, before] : touched_) {
    const MaybeFile now = find(tree_, name);
    is_changed |= now != before;
    if (!now || !new_contents_.contains(now->hash) || !known.insert(now->hash).second) continue;
    added.push_back({now->hash, new_contents_.at(now->hash),
                     before ? std::optional(before->hash) : std::nullopt});
  }
  if (!is_changed) {
    return refuse(RefusalKind::kNothing,
                  fmt::format("{} does not change any file in {}", labels.theirs, labels.ours));
  }
  return added;
}

}  // namespace quarry::changes
