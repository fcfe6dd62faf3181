// What is private, and what becomes public (`private`).
//
// An artifact that is public must never be stored as a delta on one that is not: whoever may not
// see the one could not make the other. What becomes public enters `unclustered`, even if some
// cluster names it already: the next cluster takes it out again.
#pragma once

#include "content_expansion.h"
#include "database.h"

namespace quarry::repository {

class PrivateArtifacts {
 public:
  /// None is owned.
  PrivateArtifacts(Database& database, ContentExpansion& contents)
      : database_(database), contents_(contents) {}

  // All throw SqliteError.

  bool is_private(Rid rid);
  /// Whether anything is.
  bool hides_anything();
  /// Whether an artifact, which is private or not, may be a delta on SOURCE.
  bool may_be_delta_on(Rid source, bool artifact_is_private) {
    return artifact_is_private || !is_private(source);
  }
  /// RID, which is new or a phantom, becomes private.
  void hide(Rid rid);
  /// RID becomes public. False where it is already.
  bool make_public(Rid rid);

  /// RID is stored whole from now on where it is a delta on something private, and its content is
  /// there.
  void store_whole_if_source_is_private(Rid rid);
  /// RID has become private: the same for what is public and stored as a delta on it.
  void store_dependents_whole(Rid rid);

 private:
  Database& database_;
  ContentExpansion& contents_;
};

}  // namespace quarry::repository
