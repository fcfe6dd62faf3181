// Computes all derived tables from the artifacts, in one transaction.
//
// The tables are dropped and created again. This also repairs damaged and missing tables. Like
// fossil's rebuild, the rebuild also removes shunned artifacts and corrects blob.size. If a tag has
// made a check-in private, the files of the check-in become private, unless they are also in a
// public check-in. Unlike fossil's rebuild, which adds a trunk tag to a project without one, this
// rebuild never adds artifacts.

#include <fmt/core.h>

#include <map>
#include <mutex>

#include "quarry/base/file_system.h"
#include "quarry/base/log.h"
#include "quarry/repository/whole_file.h"
#include "repository_state.h"
#include "schema_version.h"
#include "store/artifact_walk.h"
#include "store/schema.h"
#include "tickets/ticket_schema.h"

namespace quarry::repository {

namespace {

using Progress = std::function<void(std::size_t, std::size_t)>;

class Rebuild {
 public:
  explicit Rebuild(Repository::State& state) : r_(state) {}

  void make_tables();
  void remove_shunned();
  void read(const Progress& progress, const std::function<bool()>& is_interrupted);
  void derive();
  void extend_private();
  Rebuilt take() { return std::move(rebuilt_); }

 private:
  void empty_search_index();
  void store_whole(const char* which);

  Repository::State& r_;
  Rebuilt rebuilt_;
};

void Rebuild::make_tables() {
  Database& database = r_.database;
  for (const char* table :
       {"filename", "mlink", "plink", "leaf", "event", "phantom", "orphan", "unclustered", "unsent",
        "tag", "tagxref", "backlink", "attachment", "cherrypick", "forumpost",
        "fx_quarry_cherrypick", "fx_quarry_overruled", "fx_quarry_tied"}) {
    database.execute(fmt::format("DROP TABLE IF EXISTS {}", table));
  }
  database.execute(kDerivedSchema);
  add_predefined_tags(database);
  make_ticket_tables(database);
  database.execute(
      "CREATE INDEX IF NOT EXISTS delta_i1 ON delta(srcid);"
      "DELETE FROM config WHERE name IN ('remote-code','remote-maxid')");
  empty_search_index();
}

/// Creates the search index again with the same definition, but empty. Documents are marked for
/// indexing when the artifacts are read.
void Rebuild::empty_search_index() {
  if (!r_.database.has_table("ftsdocs")) return;
  const std::string definition =
      r_.database.first_text("SELECT sql FROM sqlite_schema WHERE name='ftsidx'");
  r_.database.execute("SAVEPOINT search");
  try {
    r_.database.execute("DELETE FROM ftsdocs; DROP TABLE IF EXISTS ftsidx");
    r_.database.run_definition(definition);
  } catch (const SqliteError& error) {
    base::log(base::LogLevel::kWarning, "cannot empty the search index: {}", error.what());
    r_.database.execute("ROLLBACK TO search");
  }
  r_.database.execute("RELEASE search");
}

/// Stores artifacts as whole contents. WHICH is a SELECT that returns their row ids.
void Rebuild::store_whole(const char* which) {
  for (const Rid rid : r_.database.integers(which)) r_.contents.store_whole(rid);
}

void Rebuild::remove_shunned() {
  store_whole(
      "SELECT rid FROM delta WHERE srcid IN (SELECT rid FROM blob JOIN shun USING(uuid))"
      " AND rid NOT IN (SELECT rid FROM blob JOIN shun USING(uuid))");
  r_.database.execute(
      "DELETE FROM delta WHERE rid IN (SELECT rid FROM blob JOIN shun USING(uuid));"
      "DELETE FROM blob WHERE uuid IN (SELECT uuid FROM shun);"
      "DELETE FROM private WHERE rid NOT IN (SELECT rid FROM blob);"
      "INSERT INTO unclustered SELECT rid FROM blob EXCEPT SELECT rid FROM private;"
      "INSERT INTO phantom SELECT rid FROM blob WHERE size<0");
  r_.contents.forget_all();
}

/// Reads every artifact, and corrects blob.size.
void Rebuild::read(const Progress& progress, const std::function<bool()>& is_interrupted) {
  using Artifact = ArtifactWalk::Artifact;
  std::mutex mutex;
  std::vector<std::pair<Rid, artifact::StructuralType>> structural;
  std::vector<std::pair<Rid, std::size_t>> wrong_sizes;
  std::map<Rid, std::string> unreadable;
  ArtifactWalk walk(r_.database, r_.contents, r_.options.walk);
  r_.manifests.hold_all();
  walk.run({.inspect =
                [&](const Artifact& artifact, const std::string& content) {
                  const auto type = r_.manifests.add(artifact.rid, content);
                  const bool is_wrong = artifact.size != static_cast<std::int64_t>(content.size());
                  if (!type && !is_wrong) return;
                  const std::scoped_lock lock(mutex);
                  if (type) structural.emplace_back(artifact.rid, *type);
                  if (is_wrong) wrong_sizes.emplace_back(artifact.rid, content.size());
                },
            .fail =
                [&](const Artifact& artifact, const Error& error) {
                  if (error.code == ErrorCode::kNotFound) return;
                  unreadable[artifact.rid] = fmt::format("artifact {} ({}): {}", artifact.rid,
                                                         artifact.name, error.message);
                },
            .progress =
                [&](std::size_t done, std::size_t total) {
                  if (is_interrupted && is_interrupted()) {
                    throw SqliteError(SQLITE_INTERRUPT, "interrupted");
                  }
                  if (progress) progress(done, total);
                }});
  for (const auto& [rid, size] : wrong_sizes) {
    r_.database.execute("UPDATE blob SET size=?1 WHERE rid=?2", size, rid);
  }
  for (auto& [rid, what] : unreadable) rebuilt_.unreadable.push_back(std::move(what));
  r_.derivation.expect_everything();
  for (const auto& [rid, type] : structural) r_.derivation.arrived(rid, type);
  rebuilt_.expansions = walk.expansions();
}

void Rebuild::derive() {
  r_.derivation.keep_quiet();
  r_.derivation.run();
}

void Rebuild::extend_private() {
  r_.database.execute(
      "CREATE TEMP TABLE private_check_in AS"
      " SELECT rid FROM tagxref WHERE tagid=6 AND tagtype>0;"
      "INSERT OR IGNORE INTO private SELECT fid FROM mlink"
      " EXCEPT SELECT fid FROM mlink WHERE mid NOT IN (SELECT rid FROM private_check_in);"
      "INSERT OR IGNORE INTO private SELECT rid FROM private_check_in;"
      "DROP TABLE private_check_in");
  store_whole(
      "SELECT rid FROM delta WHERE srcid IN (SELECT rid FROM private)"
      " AND rid NOT IN (SELECT rid FROM private)");
}

}  // namespace

Result<Rebuilt> rebuild(const std::filesystem::path& path, const OpenOptions& options,
                        const Progress& progress, const std::function<bool()>& is_interrupted) {
  QUARRY_TRY_ASSIGN(const auto type, base::type_of_file(path));
  if (type == std::filesystem::file_type::not_found) {
    return fail(ErrorCode::kNotFound, "{}: no such file", path.string());
  }
  return guarded(path, [&]() -> Result<Rebuilt> {
    OpenOptions used = options;
    used.max_artifact_size = kLargestArtifact;
    used.content_cache_size = std::size_t{64} << 20;
    Repository::State state(path, used);
    for (const char* table : {"blob", "delta", "config", "user", "private", "shun"}) {
      if (state.database.has_table(table)) continue;
      return fail(ErrorCode::kInvalid, "{}: not a Fossil repository", path.string());
    }
    QUARRY_TRY(check_aux_schema(path, state.database));
    state.database.execute("PRAGMA synchronous=FULL");
    state.database.interrupt_when(is_interrupted);
    Transaction transaction(state.database);
    Rebuild rebuild(state);
    rebuild.make_tables();
    rebuild.remove_shunned();
    rebuild.read(progress, is_interrupted);
    rebuild.derive();
    rebuild.extend_private();
    transaction.commit();
    state.keep_log_short();
    Rebuilt rebuilt = rebuild.take();
    rebuilt.expansions += state.contents.expansions();
    return rebuilt;
  });
}

}  // namespace quarry::repository
