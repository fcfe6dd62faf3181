// A store of parsed structural artifacts, by rid. The artifacts are kept in a compact form: the
// text without the F cards, and the F cards as a FileList. Therefore, a check-in need not be
// expanded and parsed again for each comparison with its parents and children.
//
// A receipt keeps a limited number of artifacts. A complete recomputation first parses all
// artifacts, and keeps all of them. Above a limit, texts are moved to a temporary file, and file
// lists are discarded and computed again when needed.
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
  /// CONTENTS is not owned. BOUNDS apply to a complete recomputation.
  Manifests(ContentExpansion& contents, const WalkBounds& bounds)
      : contents_(contents), lists_of_all_(bounds.lists), texts_(bounds.texts) {}

  /// Returns the parsed artifact RID, or null if its content is missing, corrupt or plain data.
  /// (Corrupt contents are reported by verify().) Throws SqliteError.
  Manifest get(Rid rid);
  /// Returns the files in the F cards of RID, or null if get() returns null. Throws SqliteError.
  Files files(Rid rid);
  /// Parses and stores CONTENT, the content of RID. Returns nullopt if CONTENT is plain data.
  /// Several threads may call add() at the same time, but must not call other functions at the same
  /// time.
  std::optional<artifact::StructuralType> add(Rid rid, std::string_view content);
  /// Keeps all artifacts until forget_all(). get() then returns only artifacts that were added.
  void hold_all() { holds_all_ = true; }
  void forget_all();

 private:
  struct StoredManifest {
    artifact::StructuralType type;
    HeldTexts::Span text;
    Files files;  // null if it must be computed again
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

/// The files of a check-in: its own F cards and, for a delta manifest, the F cards of its baseline.
class FileSet {
 public:
  /// BASELINE is null for a manifest without a baseline.
  FileSet(Manifest manifest, Files own, Files baseline)
      : manifest_(std::move(manifest)), own_(std::move(own)), baseline_(std::move(baseline)) {}

  /// Returns the file NAME of this check-in, or null if there is none.
  const artifact::FileCard* find(std::string_view name) const;
  /// Returns the F card for NAME in the manifest itself, or null if there is none.
  const artifact::FileCard* find_own(std::string_view name) const { return own_->find(name); }
  const FileList& own() const { return *own_; }
  /// Calls VISIT for every file of the check-in, including the files of the baseline.
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
