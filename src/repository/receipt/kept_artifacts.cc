// Stores the artifacts of a clone. They are written when they arrive, and are verified after all of
// them have arrived.
//
// A server sends the artifacts in rid order, and most of them are deltas on artifacts that arrive
// later. Therefore, the names of delta sources are first written to a temporary table, and `delta`
// is filled at the end. Then each artifact is expanded once, in the order of the delta trees
// (ArtifactWalk). The hashes and sizes are verified, structural artifacts are parsed, and the
// derived tables are computed.

#include <fmt/core.h>

#include <algorithm>
#include <mutex>
#include <vector>

#include "quarry/artifact/blob.h"
#include "quarry/artifact/delta.h"
#include "quarry/artifact/structural.h"
#include "receipt_state.h"
#include "store/artifact_walk.h"

namespace quarry::repository {

using artifact::HashName;
using artifact::StructuralType;

namespace {

using WalkedArtifact = ArtifactWalk::Artifact;

/// Results of the threads that verify contents.
struct Examined {
  std::mutex mutex;
  std::vector<std::pair<Rid, StructuralType>> structural;
  std::vector<Rid> doubtful;                   // artifacts to check with database queries
  std::optional<std::pair<Rid, Error>> wrong;  // the bad artifact with the lowest rid

  void is_wrong(const WalkedArtifact& row, ErrorCode code, std::string_view why) {
    const std::scoped_lock lock(mutex);
    if (wrong && wrong->first <= row.rid) return;
    wrong.emplace(row.rid, Error{code, fmt::format("artifact {}: {}", row.name, why)});
  }
};

}  // namespace

/// Returns the declared size of the whole artifact, and checks that it is within the limits. The
/// actual size is verified later.
Result<std::int64_t> Receipt::State::size_of_kept(const Arrival& arrival) {
  std::uint64_t payload_size = arrival.payload.size();
  if (arrival.is_compressed) {
    QUARRY_TRY_ASSIGN(payload_size, artifact::blob_declared_size(arrival.payload));
  }
  std::uint64_t size = arrival.declared_size.value_or(payload_size);
  if (arrival.delta_source && !arrival.declared_size) {
    QUARRY_TRY_ASSIGN(size, artifact::delta_output_size(arrival.payload));
  }
  if (std::max(size, payload_size) > r.options.max_artifact_size) {
    return fail(ErrorCode::kLimit, "it is {} bytes long; the limit is {}",
                std::max(size, payload_size), r.options.max_artifact_size);
  }
  return static_cast<std::int64_t>(size);
}

void Receipt::State::note_source(Rid rid, const HashName& source) {
  r.database.execute("INSERT OR REPLACE INTO temp.kept_delta(rid,source) VALUES(?1,?2)", rid,
                     source.str());
}

Result<bool> Receipt::keep(const Arrival& arrival) {
  return guarded(state_->r, [&](auto& r) -> Result<bool> {
    if (state_->is_shunned(arrival.name.str())) return false;
    if (state_->kept_algorithm != arrival.name.algorithm()) {
      QUARRY_TRY(state_->admit(arrival.name));
      r.database.execute(
          "CREATE TEMP TABLE IF NOT EXISTS kept_delta(rid INTEGER PRIMARY KEY, source TEXT)");
      state_->kept_algorithm = arrival.name.algorithm();
    }
    const auto size = state_->size_of_kept(arrival);
    if (!size) {
      return fail(size.error().code, "artifact {}: {}", arrival.name.str(), size.error().message);
    }
    std::string compressed;
    if (!arrival.is_compressed) compressed = artifact::blob_compress(arrival.payload);
    const std::string_view stored = arrival.is_compressed ? arrival.payload : compressed;

    r.database.execute("INSERT OR IGNORE INTO blob(rcvid,size,uuid,content) VALUES(?1,?2,?3,?4)",
                       state_->receipt_id(), *size, arrival.name.str(), Blob{stored});
    Rid rid = r.database.last_insert_rowid();
    if (r.database.changes() == 0) {
      const Rid known = r.names.find(arrival.name.str());
      if (!r.database.has_row("SELECT 1 FROM blob WHERE rid=?1 AND size<0", known)) return false;
      rid = state_->write_row(known, arrival.name, *size, stored, 0, arrival.is_private);
    } else if (arrival.is_private) {
      r.database.execute("INSERT OR IGNORE INTO private(rid) VALUES(?1)", rid);
    }
    if (arrival.delta_source) state_->note_source(rid, *arrival.delta_source);
    return true;
  });
}

/// Fills `delta` from the temporary table. Returns false if keep() has not stored any artifact.
bool Receipt::State::connect_kept() {
  if (!r.database.has_row("SELECT 1 FROM sqlite_temp_schema WHERE name='kept_delta'")) {
    return false;
  }
  std::vector<std::pair<std::string, bool>> missing;
  {
    Query query = r.database.query(
        "SELECT source, min(EXISTS(SELECT 1 FROM private WHERE rid=k.rid))"
        " FROM temp.kept_delta AS k WHERE NOT EXISTS(SELECT 1 FROM blob WHERE uuid=source)"
        " GROUP BY source");
    while (query.step()) missing.emplace_back(query.text(0), query.integer(1) != 0);
  }
  for (const auto& [source, is_private] : missing) r.names.make_phantom(source, is_private);
  r.database.execute(
      "INSERT INTO delta(rid,srcid) SELECT k.rid, s.rid FROM temp.kept_delta AS k"
      " CROSS JOIN blob AS s WHERE s.uuid=k.source ORDER BY k.rid;"
      "DROP TABLE temp.kept_delta;"
      "INSERT OR IGNORE INTO unclustered(rid) SELECT rid FROM blob"
      " WHERE NOT EXISTS(SELECT 1 FROM private WHERE rid=blob.rid)");
  r.waiting.reset();
  return true;
}

/// Verifies every artifact, and passes structural artifacts to the derivation.
Result<void> Receipt::State::verify_all(const CompletionWatch& watch) {
  Examined found;
  const auto look = [&](const WalkedArtifact& row, const std::string& content) {
    const auto name = HashName::parse(row.name);
    if (!name || !name->names(content)) {
      return found.is_wrong(row, ErrorCode::kInvalid, "its content does not match its hash");
    }
    if (static_cast<std::int64_t>(content.size()) != row.size) {
      return found.is_wrong(
          row, ErrorCode::kInvalid,
          fmt::format("it is {} bytes long, but its card says {}", content.size(), row.size));
    }
    const auto type = r.manifests.add(row.rid, content);
    const std::scoped_lock lock(found.mutex);
    if (type) found.structural.emplace_back(row.rid, *type);
    if (may_do_harm(content)) found.doubtful.push_back(row.rid);
  };
  const auto fail = [&](const WalkedArtifact& row, const Error& error) {
    // The delta source has not arrived, so the artifact keeps waiting.
    if (error.code == ErrorCode::kNotFound) return;
    found.is_wrong(row, error.code == ErrorCode::kLimit ? error.code : ErrorCode::kInvalid,
                   error.message);
  };
  const auto progress = [&](std::size_t done, std::size_t total) {
    if (watch.is_interrupted && watch.is_interrupted()) {
      throw SqliteError(SQLITE_INTERRUPT, "interrupted");
    }
    if (watch.progress) watch.progress(done, total);
  };
  r.manifests.hold_all();
  ArtifactWalk(r.database, r.contents, r.options.walk)
      .run({.inspect = look, .fail = fail, .progress = progress});

  std::ranges::sort(found.doubtful);
  for (const Rid rid : found.doubtful) {
    const auto content = r.contents.get(rid);
    if (!content) continue;
    if (const auto harm = harm_of(**content)) {
      found.is_wrong({rid, r.names.hash_of(rid), 0}, ErrorCode::kInvalid, *harm);
    }
  }
  if (found.wrong) return std::unexpected(std::move(found.wrong->second));
  std::ranges::sort(found.structural);
  const bool is_first = !r.database.has_row("SELECT 1 FROM event LIMIT 1") &&
                        !r.database.has_row("SELECT 1 FROM tagxref LIMIT 1");
  if (is_first) r.derivation.expect_everything();
  for (const auto& [rid, type] : found.structural) r.derivation.arrived(rid, type);
  return {};
}

Result<void> Receipt::complete(const CompletionWatch& watch) {
  return guarded(state_->r, [&](auto& r) -> Result<void> {
    if (!state_->connect_kept()) return {};
    if (watch.is_interrupted) r.database.interrupt_when(watch.is_interrupted);
    struct Restore {
      Repository::State& r;
      ~Restore() {
        r.database.interrupt_when({});
        r.manifests.forget_all();
      }
    } restore{r};
    QUARRY_TRY(state_->verify_all(watch));
    for (const Rid rid : r.database.integers("SELECT rid FROM private"))
      r.privacy.store_dependents_whole(rid);
    r.derivation.run();
    return {};
  });
}

}  // namespace quarry::repository
