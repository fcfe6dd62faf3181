#include "file_changes.h"

#include <optional>

namespace quarry::repository {

using artifact::FileCard;

namespace {

/// The change of FILE in the child; OLD is the file of that name in PARENT, or null.
std::optional<FileChange> change_of(const FileCard& file, const FileCard* old,
                                    const FileSet& parent) {
  const int permission = permission_number(file);
  if (!file.prior.empty()) {
    old = parent.find(file.prior);
    if (old != nullptr) return FileChange{old->hash, file.hash, file.name, file.prior, permission};
    return FileChange{{}, file.hash, file.name, {}, permission};
  }
  if (old == nullptr) {
    if (file.hash.empty()) return std::nullopt;
    return FileChange{{}, file.hash, file.name, {}, permission};
  }
  if (file.hash == old->hash && permission_number(*old) == permission) return std::nullopt;
  return FileChange{old->hash, file.hash, file.name, {}, permission};
}

FileChange removal_of(const FileCard& old) {
  return {old.hash, {}, old.name, {}, 0};
}

/// For two manifests without baselines: merges both lists.
std::vector<FileChange> changes_between_lists(const FileSet& parent, const FileSet& child) {
  std::vector<FileChange> changes, removals;
  FileList::Cursor before(parent.own()), now(child.own());
  const auto add = [&](const FileCard* old) {
    if (auto change = change_of(now.card(), old, parent)) changes.push_back(*change);
    now.advance();
  };
  while (!before.at_end() || !now.at_end()) {
    if (now.at_end()) {
      removals.push_back(removal_of(before.card()));
      before.advance();
    } else if (before.at_end()) {
      add(nullptr);
    } else if (!now.pass_same(before)) {
      const int order = now.card().name.compare(before.card().name);
      if (order > 0) removals.push_back(removal_of(before.card()));
      if (order <= 0) add(order == 0 ? &before.card() : nullptr);
      if (order >= 0) before.advance();
    }
  }
  changes.insert(changes.end(), removals.begin(), removals.end());
  return changes;
}

/// For two delta manifests: adds files that only the parent's manifest lists, so that the child has
/// the baseline's version.
void add_reverted(const FileSet& parent, const FileSet& child, std::vector<FileChange>& changes) {
  parent.own().for_each([&](const FileCard& old) {
    if (!old.hash.empty() && child.find_own(old.name) != nullptr) return;
    const FileCard* now = child.find(old.name);
    if (now != nullptr) {
      changes.push_back({old.hash, now->hash, now->name, {}, permission_number(*now)});
    }
  });
}

}  // namespace

int permission_number(const FileCard& file) {
  if (file.permission == 'x') return 1;
  if (file.permission == 'l') return 2;
  return 0;
}

std::vector<FileChange> changes_between(const FileSet& parent, const FileSet& child) {
  if (!parent.is_delta() && !child.is_delta()) return changes_between_lists(parent, child);
  std::vector<FileChange> changes;
  child.own().for_each([&](const FileCard& file) {
    if (auto change = change_of(file, parent.find(file.name), parent)) changes.push_back(*change);
  });
  if (parent.is_delta() && child.is_delta()) {
    add_reverted(parent, child, changes);
  } else if (!child.is_delta()) {
    parent.for_each([&](const FileCard& old) {
      if (child.find(old.name) == nullptr) changes.push_back(removal_of(old));
    });
  }
  return changes;
}

}  // namespace quarry::repository
