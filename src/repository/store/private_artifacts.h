// Makes artifacts private or public (the table `private`).
//
// A public artifact must never be stored as a delta on a private artifact, because clients that are
// not allowed to receive the source could not expand the artifact. An artifact that becomes public
// is added to `unclustered`, even if it is already in a cluster. The next cluster removes it from
// `unclustered`.
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
  /// Returns whether any artifact is private.
  bool hides_anything();
  /// Returns whether an artifact can be stored as a delta on SOURCE.
  bool may_be_delta_on(Rid source, bool artifact_is_private) {
    return artifact_is_private || !is_private(source);
  }
  /// Makes RID private. RID must be new or a phantom.
  void hide(Rid rid);
  /// Makes RID public. Returns false if RID was already public.
  bool make_public(Rid rid);

  /// Stores RID whole if it is a delta on a private artifact. Does nothing if the content of RID
  /// cannot be expanded.
  void store_whole_if_source_is_private(Rid rid);
  /// Finds all public artifacts that are deltas on RID, and stores each of them whole. Call after
  /// RID has become private.
  void store_dependents_whole(Rid rid);

 private:
  Database& database_;
  ContentExpansion& contents_;
};

}  // namespace quarry::repository
