// Private artifacts (the table `private`), and how they become public.
//
// A public artifact must never be stored as a delta on a private one, because clients that may not
// receive the source could not expand it. An artifact that becomes public enters `unclustered`,
// even if a cluster already lists it; the next cluster removes it again.
#pragma once

#include "content_expansion.h"
#include "database.h"

namespace quarry::repository {

class PrivateArtifacts {
 public:
  /// Arguments are not owned.
  PrivateArtifacts(Database& database, ContentExpansion& contents)
      : database_(database), contents_(contents) {}

  // All functions throw SqliteError.

  bool is_private(Rid rid);
  /// Whether any artifact is private.
  bool hides_anything();
  /// Whether an artifact may be stored as a delta on SOURCE.
  bool may_be_delta_on(Rid source, bool artifact_is_private) {
    return artifact_is_private || !is_private(source);
  }
  /// Makes RID private. RID must be new or a phantom.
  void hide(Rid rid);
  /// Makes RID public. Returns false if it already was.
  bool make_public(Rid rid);

  /// Stores RID whole if it is a delta on a private artifact and its content can be expanded.
  void store_whole_if_source_is_private(Rid rid);
  /// Stores public artifacts whole that are deltas on RID, which has become private.
  void store_dependents_whole(Rid rid);

 private:
  Database& database_;
  ContentExpansion& contents_;
};

}  // namespace quarry::repository
