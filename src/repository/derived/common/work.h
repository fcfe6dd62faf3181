// Data that is shared by the parts during one run of the derivation: the file, caches, and the
// pending work. Like the parts, a Work object exists for only one run, so that a failed run does
// not affect the next run.
#pragma once

#include "artifact_order.h"
#include "derived/ancestry/lineage.h"
#include "derived/ancestry/tag_entries.h"
#include "manifests.h"
#include "pending.h"
#include "quarry/base/time.h"
#include "store/content_expansion.h"
#include "store/database.h"
#include "store/names.h"
#include "store/private_artifacts.h"

namespace quarry::repository {

/// The file whose tables are derived. Members are not owned.
struct DerivationContext {
  Database& database;
  ContentExpansion& contents;
  Names& names;
  Manifests& manifests;
  PrivateArtifacts& privacy;
  const base::Clock& clock;
};

struct Work : DerivationContext {
  /// IS_SILENT suppresses notifications about events.
  Work(const DerivationContext& context, Pending&& to_do, bool is_silent)
      : DerivationContext(context),
        lineage(database),
        tags(database),
        order(names, manifests, lineage),
        pending(std::move(to_do)),
        is_quiet(is_silent) {}
  Work(const Work&) = delete;
  Work& operator=(const Work&) = delete;

  Lineage lineage;
  TagEntries tags;
  ArtifactOrder order;
  Pending pending;
  const bool is_quiet;
  bool is_whole = false;  // lineage, tags and names are held in memory
};

}  // namespace quarry::repository
