// Parsed structural artifacts by row number. What an artifact says is kept when it is looked at, in
// a small form (its text without the F cards, and these as a FileList), so that a check-in that is
// compared with its relatives need not be expanded and parsed again for each.
//
// A receipt keeps a bounded number of them. A computation of everything, which looks at each
// artifact before it computes anything, holds all: texts go to a temporary file beyond a bound, and
// lists of files beyond theirs are made again where they are needed.
#pragma once

#include <list>
#include <memory>
#include <mutex>
#include <optional>
#include <string_view>
#include <unordered_map>

#include "file_cards.h"
#include "quarry/artifact/structural.h"
#include "quarry/repository/walk_bounds.h"
#include "store/content_expansion.h"
#include "store/held_texts.h"

namespace quarry::repository {

/// An artifact without its files.
using Manifest = std::shared_ptr<const artifact::Structural>;
using Files = std::shared_ptr<const FileList>;

class Manifests {
 public:
  /// CONTENTS is not owned. BOUNDS are those of a computation of everything.
  Manifests(ContentExpansion& contents, const WalkBounds& bounds)
      : contents_(contents), lists_of_all_(bounds.lists), texts_(bounds.texts) {}

  /// RID parsed; nothing if its content is not there (yet) or is plain data. Throws SqliteError;
  /// corrupt content counts as absent, verify() reports it.
  Manifest get(Rid rid);
  /// The files that its F cards name; nothing where get() gives nothing. Throws SqliteError.
  Files files(Rid rid);
  /// Parses and keeps CONTENT, which is RID's; nothing if it is plain data. Several threads may
  /// call it at once, and nothing else meanwhile.
  std::optional<artifact::StructuralType> look_at(Rid rid, std::string_view content);
  /// From now on, until forget_all(), all are held; and what has not been looked at when get() is
  /// called is not there.
  void hold_all() { holds_all_ = true; }
  void forget_all();

 private:
  struct StoredManifest {
    artifact::StructuralType type;
    HeldTexts::Span text;
    Files files;  // null: has to be made again
  };
  struct Parsed {
    Rid rid;
    Manifest manifest;
  };
  const StoredManifest* find(Rid rid);
  Files make_files(const artifact::Structural& artifact);
  void forget_files();

  ContentExpansion& contents_;
  std::size_t lists_of_all_;  // bytes
  std::mutex mutex_;
  bool holds_all_ = false;
  HeldTexts texts_;
  std::unordered_map<Rid, StoredManifest> stored_;
  std::shared_ptr<FileCards> cards_ = std::make_shared<FileCards>();
  std::size_t lists_size_ = 0;  // bytes
  Files no_files_ = std::make_shared<const FileList>();
  std::list<Parsed> parsed_;  // most recently used first
};

/// The files of a check-in: its own F cards and, for a delta manifest, those of its baseline.
class FileSet {
 public:
  /// BASELINE is null for a manifest without one.
  FileSet(Manifest manifest, Files own, Files baseline)
      : manifest_(std::move(manifest)), own_(std::move(own)), baseline_(std::move(baseline)) {}

  /// The file called NAME as this check-in has it; null if it has none.
  const artifact::FileCard* find(std::string_view name) const;
  /// The F card for NAME in the manifest itself; null if it has none.
  const artifact::FileCard* find_own(std::string_view name) const { return own_->find(name); }
  const FileList& own() const { return *own_; }
  /// Calls VISIT for every file of the check-in, baseline included.
  template <typename Visit>
  void for_each(Visit&& visit) const {
    own_->for_each([&](const artifact::FileCard& file) {
      if (!file.hash.empty()) visit(file);
    });
    if (!baseline_) return;
    baseline_->for_each([&](const artifact::FileCard& file) {
      if (!file.hash.empty() && find_own(file.name) == nullptr) visit(file);
    });
  }

  const artifact::Structural& manifest() const { return *manifest_; }
  bool is_delta() const { return !manifest_->baseline.empty(); }

 private:
  Manifest manifest_;
  Files own_;
  Files baseline_;
};

}  // namespace quarry::repository
