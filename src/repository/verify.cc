// Verifies a repository file: checks that all artifacts match their hashes, and that the derived
// tables are equal to a recomputation. Works on a private copy. The file itself is only read.

#include <fcntl.h>
#include <fmt/core.h>
#include <stdlib.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <map>
#include <mutex>
#include <set>

#include "derived/derived_rows.h"
#include "derived/order_dependence.h"
#include "quarry/base/fd.h"
#include "quarry/repository/whole_file.h"
#include "repository_state.h"
#include "schema_version.h"
#include "store/artifact_walk.h"
#include "store/database_copy.h"
#include "store/temporary_files.h"

namespace quarry::repository {

using artifact::HashName;

namespace {

constexpr std::size_t kMaxFindingsPerTable = 20;

constexpr const char* kCopy = "the temporary copy";

class Verification {
 public:
  explicit Verification(Repository::State& copy) : r_(copy) {}

  void check_artifacts(const std::function<void(std::size_t, std::size_t)>& progress,
                       const std::function<bool()>& is_interrupted);
  void check_derived();
  Verified take() { return std::move(verified_); }

 private:
  void check_artifact(const ArtifactWalk::Artifact& artifact, const std::string& content);
  void report(const ArtifactWalk::Artifact& artifact, std::string_view what);
  void check_integrity();
  bool is_same(const DerivedRows& comparison);
  using RowKey = std::pair<std::int64_t, std::int64_t>;
  using UnmatchedRows = std::map<RowKey, std::vector<std::string>>;  // rendered
  UnmatchedRows rows_only_in(const DerivedRows& comparison, const std::string& source,
                             const std::string& other);
  void compare(const DerivedRows& comparison);
  void report_rows(const DerivedRows& comparison, std::string_view verdict, const Findings& rows);

  Repository::State& r_;
  OrderDependence order_{
      {r_.database, r_.contents, r_.names, r_.manifests, r_.privacy, *r_.options.clock}};
  Verified verified_;
  std::mutex mutex_;  // protects the next two members
  std::multimap<Rid, std::string> of_artifacts_;
  std::vector<std::pair<Rid, artifact::StructuralType>> structural_;
};

void Verification::check_integrity() {
  Query query = r_.database.query("PRAGMA integrity_check(20)");
  while (query.step()) {
    if (query.text(0) != "ok")
      verified_.faults.push_back(fmt::format("the file: {}", query.text(0)));
  }
}

/// Thread-safe.
void Verification::report(const ArtifactWalk::Artifact& artifact, std::string_view what) {
  const std::scoped_lock lock(mutex_);
  of_artifacts_.emplace(artifact.rid,
                        fmt::format("artifact {} ({}): {}", artifact.rid, artifact.name, what));
}

void Verification::check_artifact(const ArtifactWalk::Artifact& artifact,
                                  const std::string& content) {
  const auto name = HashName::parse(artifact.name);
  if (!name) return report(artifact, "its name is not 40 or 64 lower-case hex digits");
  if (!name->names(content)) return report(artifact, "its content does not match its hash");
  if (static_cast<std::int64_t>(content.size()) != artifact.size) {
    report(artifact, fmt::format("blob.size is {}, but its content is {} bytes long", artifact.size,
                                 content.size()));
  }
  const auto type = r_.manifests.add(artifact.rid, content);
  if (!type) return;
  const std::scoped_lock lock(mutex_);
  structural_.emplace_back(artifact.rid, *type);
}

void Verification::check_artifacts(const std::function<void(std::size_t, std::size_t)>& progress,
                                   const std::function<bool()>& is_interrupted) {
  check_integrity();
  {
    Query lost = r_.database.query(
        "SELECT rid, srcid FROM delta WHERE NOT EXISTS(SELECT 1 FROM blob WHERE rid=srcid)"
        " OR NOT EXISTS(SELECT 1 FROM blob WHERE rid=delta.rid)");
    while (lost.step()) {
      verified_.faults.push_back(fmt::format("delta: the row {} -> {} refers to a missing artifact",
                                             lost.integer(0), lost.integer(1)));
    }
  }
  {
    Query hidden = r_.database.query(
        "SELECT (SELECT uuid FROM blob WHERE rid=d.rid), (SELECT uuid FROM blob WHERE rid=d.srcid)"
        " FROM delta AS d WHERE EXISTS(SELECT 1 FROM private WHERE rid=d.srcid)"
        " AND NOT EXISTS(SELECT 1 FROM private WHERE rid=d.rid)");
    while (hidden.step()) {
      verified_.faults.push_back(
          fmt::format("delta: the public artifact {} is a delta on the private artifact {}",
                      hidden.text(0), hidden.text(1)));
    }
  }
  r_.manifests.hold_all();
  ArtifactWalk(r_.database, r_.contents, r_.options.walk)
      .run({.inspect = [&](const ArtifactWalk::Artifact& artifact,
                           const std::string& content) { check_artifact(artifact, content); },
            .fail =
                [&](const ArtifactWalk::Artifact& artifact, const Error& error) {
                  // An artifact whose chain of deltas ends in a phantom cannot be checked until the
                  // content of the phantom arrives. This is not a fault of the file.
                  if (error.code != ErrorCode::kNotFound) report(artifact, error.message);
                },
            .progress =
                [&](std::size_t done, std::size_t total) {
                  if (is_interrupted && is_interrupted()) {
                    throw SqliteError(SQLITE_INTERRUPT, "interrupted");
                  }
                  if (progress) progress(done, total);
                }});
  for (auto& [rid, finding] : of_artifacts_) verified_.faults.push_back(std::move(finding));
}

void Verification::check_derived() {
  const std::vector<DerivedRows> comparisons = derived_rows(r_.database);
  for (const DerivedRows& comparison : comparisons) {
    r_.database.execute(fmt::format("CREATE TEMP TABLE before_{} AS {}", comparison.table,
                                    comparison.select_columns()));
  }
  r_.database.execute("BEGIN");
  clear_derived(r_.database);
  r_.names.forget_all();
  // Unlike a rebuild, keep shunned artifacts: the file still has their rows, so the recomputation
  // must also have these rows.
  r_.derivation.expect_everything();
  for (const auto& [rid, type] : structural_) r_.derivation.arrived(rid, type);
  r_.derivation.run();
  for (const DerivedRows& comparison : comparisons) {
    if (!is_same(comparison)) compare(comparison);
  }
  r_.database.execute("ROLLBACK");
}

/// Returns whether all rows of the table are unchanged.
bool Verification::is_same(const DerivedRows& comparison) {
  std::string order;
  std::size_t columns = 0;
  {
    Query query = r_.database.query("SELECT 1 FROM pragma_table_info(?1)");
    const std::string table = fmt::format("before_{}", comparison.table);
    query.bind(table);
    while (query.step()) {
      ++columns;
      order += fmt::format("{}{}", columns == 1 ? "" : ",", columns);
    }
  }
  Query before = r_.database.query_once(
      fmt::format("SELECT * FROM before_{} ORDER BY {}", comparison.table, order));
  Query after =
      r_.database.query_once(fmt::format("{} ORDER BY {}", comparison.select_columns(), order));
  while (before.step()) {
    if (!after.step()) return false;
    for (int column = 0; column < static_cast<int>(columns); ++column) {
      if (!before.has_same(column, after)) return false;
    }
  }
  return !after.step();
}

/// Returns the rows that are in SOURCE but not in OTHER, sorted by key. Duplicate rows are counted.
Verification::UnmatchedRows Verification::rows_only_in(const DerivedRows& comparison,
                                                       const std::string& source,
                                                       const std::string& other) {
  const auto counted = [&](const std::string& from) {
    return fmt::format("SELECT {}, ({}) AS line, *, count(*) FROM {} AS {} GROUP BY line",
                       comparison.key, comparison.text, from, comparison.table);
  };
  UnmatchedRows rows;
  Query query = r_.database.query_once(counted(source) + " EXCEPT " + counted(other));
  while (query.step()) {
    rows[{query.integer(0), query.integer(1)}].emplace_back(query.text(2));
  }
  return rows;
}

/// Reports or counts the rows that are only in the file or only in the recomputation.
void Verification::compare(const DerivedRows& comparison) {
  const std::string in_file = fmt::format("before_{}", comparison.table);
  const std::string computed = fmt::format("({})", comparison.select_columns());
  const UnmatchedRows before = rows_only_in(comparison, in_file, computed);
  const UnmatchedRows after = rows_only_in(comparison, computed, in_file);
  std::set<RowKey> keys;
  for (const auto& [key, rows] : before) keys.insert(key);
  for (const auto& [key, rows] : after) keys.insert(key);
  Findings extra, missing;
  for (const RowKey& key : keys) {
    const auto found = [&](const UnmatchedRows& side) {
      const auto at = side.find(key);
      return at == side.end() ? Findings() : at->second;
    };
    const Findings old_rows = found(before), new_rows = found(after);
    if (const OrderClass order = order_.class_of(comparison.table, key)) {
      verified_.order_dependent[{comparison.table, std::string(*order)}] +=
          std::max(old_rows.size(), new_rows.size());
      continue;
    }
    extra.insert(extra.end(), old_rows.begin(), old_rows.end());
    missing.insert(missing.end(), new_rows.begin(), new_rows.end());
  }
  report_rows(comparison, "unexpected row", extra);
  report_rows(comparison, "missing row", missing);
}

void Verification::report_rows(const DerivedRows& comparison, std::string_view verdict,
                               const Findings& rows) {
  for (std::size_t i = 0; i < rows.size() && i < kMaxFindingsPerTable; ++i) {
    verified_.faults.push_back(fmt::format("{}: {}: {}", comparison.table, verdict, rows[i]));
  }
  if (rows.size() > kMaxFindingsPerTable) {
    verified_.faults.push_back(fmt::format("{}: {}: {} more rows", comparison.table, verdict,
                                           rows.size() - kMaxFindingsPerTable));
  }
}

/// Calls FUNCTION, which must write only to the copy.
template <typename Function>
auto writing_copy(Function&& function) {
  try {
    return function();
  } catch (const TemporaryFileError&) {
    throw;
  } catch (const SqliteError& error) {
    if (!error.is_full() && error.code() != SQLITE_IOERR_WRITE) throw;
    throw cannot_write_temporary(error.code(), kCopy, error.what());
  }
}

/// Returns a copy of ORIGINAL in a file without a name, which does not remain if this process is
/// killed.
std::unique_ptr<Repository::State> unnamed_copy(Database& original, const OpenOptions& options,
                                                const std::function<bool()>& is_interrupted) {
  std::string name = temporary_folder() / "quarry-verify-XXXXXX";
  const base::Fd file(::mkostemp(name.data(), O_CLOEXEC));
  if (!file) throw cannot_write_temporary(SQLITE_CANTOPEN, kCopy, std::strerror(errno));
  // SQLite opens files only by name, so open both connections before the name is removed.
  std::unique_ptr<Database> written;
  std::unique_ptr<Repository::State> copy;
  try {
    written = std::make_unique<Database>(name, Database::Mode::kReadWrite, options.busy_timeout);
    copy = std::make_unique<Repository::State>(name, options);
  } catch (const SqliteError&) {
    ::unlink(name.c_str());
    throw;
  }
  ::unlink(name.c_str());
  copy_to_new(original, std::move(written), file.get(),
              {.progress = {}, .is_interrupted = is_interrupted});
  copy->database.execute("PRAGMA journal_mode=MEMORY; PRAGMA synchronous=OFF");
  return copy;
}

/// Copies ORIGINAL, closes it, and verifies the copy.
Verified verify_copy(std::unique_ptr<Database> original,
                     const std::function<void(std::size_t, std::size_t)>& progress,
                     const WalkBounds& bounds, const std::function<bool()>& is_interrupted) {
  const OpenOptions options{.max_artifact_size = kLargestArtifact,
                            .content_cache_size = std::size_t{64} << 20,
                            .walk = bounds};
  const auto copy = unnamed_copy(*original, options, is_interrupted);
  original.reset();
  copy->database.interrupt_when(is_interrupted);
  // Add the tables and columns that the comparison needs, because an old repository might lack
  // them.
  complete_schema(copy->database);
  Verification verification(*copy);
  verification.check_artifacts(progress, is_interrupted);
  verification.check_derived();
  return verification.take();
}

}  // namespace

Result<Verified> verify(const std::filesystem::path& path,
                        const std::function<void(std::size_t, std::size_t)>& progress,
                        const WalkBounds& bounds, const std::function<bool()>& is_interrupted) {
  QUARRY_TRY(status_of_file(path));
  return guarded(path, [&]() -> Result<Verified> {
    auto original = open_to_copy(path);
    if (!original->has_table("blob") || !original->has_table("plink")) {
      return fail(ErrorCode::kInvalid, "{}: not a Fossil repository", path.string());
    }
    QUARRY_TRY(check_aux_schema(path, *original));
    return writing_copy(
        [&] { return verify_copy(std::move(original), progress, bounds, is_interrupted); });
  });
}

}  // namespace quarry::repository
