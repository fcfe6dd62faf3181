// Parsed structural artifacts by row number, a few of the latest kept: a check-in is compared with
// its parents, and the next one that is looked at is most often a relative.
#pragma once

#include <list>
#include <memory>
#include <string_view>

#include "content_store.h"
#include "quarry/artifact/structural.h"

namespace quarry::repository {

using Manifest = std::shared_ptr<const artifact::Structural>;

class Manifests {
 public:
  /// CONTENTS is not owned.
  explicit Manifests(ContentStore& contents) : contents_(contents) {}

  /// RID parsed; nothing if its content is not there (yet) or is plain data. Throws SqliteError;
  /// corrupt content counts as absent, verify() reports it.
  Manifest get(Rid rid);
  /// CONTENT, which is RID's, parsed and kept; nothing if it is plain data.
  Manifest parse(Rid rid, std::string_view content);
  void forget_all() { kept_.clear(); }

 private:
  struct Kept {
    Rid rid;
    Manifest manifest;
  };
  ContentStore& contents_;
  std::list<Kept> kept_;  // most recently used first
};

/// The files of a check-in: its own F cards and, for a delta manifest, those of its baseline.
class FileSet {
 public:
  /// BASELINE is null for a manifest without one.
  FileSet(Manifest manifest, Manifest baseline)
      : manifest_(std::move(manifest)), baseline_(std::move(baseline)) {}

  /// The file called NAME as this check-in has it; null if it has none.
  const artifact::FileCard* find(std::string_view name) const;
  /// The F card for NAME in the manifest itself; null if it has none.
  const artifact::FileCard* find_own(std::string_view name) const;
  const std::vector<artifact::FileCard>& own() const { return manifest_->files; }
  /// Calls VISIT for every file of the check-in, baseline included.
  template <typename Visit>
  void for_each(Visit&& visit) const {
    for (const auto& file : manifest_->files) {
      if (!file.hash.empty()) visit(file);
    }
    if (!baseline_) return;
    for (const auto& file : baseline_->files) {
      if (!file.hash.empty() && find_own(file.name) == nullptr) visit(file);
    }
  }

  const artifact::Structural& manifest() const { return *manifest_; }
  bool is_delta() const { return !manifest_->baseline.empty(); }

 private:
  Manifest manifest_;
  Manifest baseline_;
};

}  // namespace quarry::repository
