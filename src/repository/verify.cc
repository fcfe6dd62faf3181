// Proving a repository file: every artifact has the content that its name says, and the derived
// tables are those that a recomputation gives. All is done on a private copy; the file is only
// read.

#include <fmt/core.h>
#include <unistd.h>

#include <cstdlib>

#include "derived_rows.h"
#include "older_schema.h"
#include "repository_state.h"

namespace quarry::repository {

using artifact::HashName;
using base::ErrorCode;

namespace {

constexpr std::size_t kMaxFindingsPerTable = 20;

/// A temporary file that goes with its owner.
class TemporaryFile {
 public:
  TemporaryFile() {
    std::string pattern = std::filesystem::temp_directory_path() / "quarry-verify-XXXXXX";
    const int fd = ::mkstemp(pattern.data());
    if (fd < 0) throw SqliteError(SQLITE_CANTOPEN, "no temporary file can be made in " + pattern);
    ::close(fd);
    path_ = pattern;
  }
  ~TemporaryFile() {
    std::error_code ignored;
    for (const char* suffix : {"", "-journal", "-wal", "-shm"}) {
      std::filesystem::remove(path_.string() + suffix, ignored);
    }
  }
  TemporaryFile(const TemporaryFile&) = delete;
  TemporaryFile& operator=(const TemporaryFile&) = delete;
  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
};

void copy_database(Database& from, Database& to) {
  sqlite3_backup* backup = sqlite3_backup_init(to.handle(), "main", from.handle(), "main");
  if (backup == nullptr) to.raise(sqlite3_errcode(to.handle()));
  const int code = sqlite3_backup_step(backup, -1);
  sqlite3_backup_finish(backup);
  if (code != SQLITE_DONE) from.raise(code);
}

/// Only to be read; but what a writer that died left undone is undone first, by SQLite.
std::unique_ptr<Database> open_original(const std::filesystem::path& path) {
  const auto timeout = OpenOptions().busy_timeout;
  auto original = std::make_unique<Database>(path, Database::Mode::kReadOnly, timeout);
  try {
    original->has_table("blob");
  } catch (const SqliteError& error) {
    if (!error.is_read_only()) throw;
    original = std::make_unique<Database>(path, Database::Mode::kReadWrite, timeout);
  }
  return original;
}

class Verification {
 public:
  explicit Verification(Repository::State& copy) : r_(copy) {}

  void check_artifacts(const std::function<void(std::size_t, std::size_t)>& progress);
  void check_derived();
  Findings take() { return std::move(findings_); }

 private:
  void check_artifact(Rid rid, const std::string& text, std::int64_t size);
  void check_integrity();
  void compare(const DerivedRows& comparison);

  Repository::State& r_;
  Findings findings_;
  std::vector<std::pair<Rid, artifact::StructuralType>> structural_;
};

void Verification::check_integrity() {
  Query query = r_.database.query("PRAGMA integrity_check(20)");
  while (query.step()) {
    if (query.text(0) != "ok") findings_.push_back(fmt::format("the file: {}", query.text(0)));
  }
}

void Verification::check_artifact(Rid rid, const std::string& text, std::int64_t size) {
  const auto report = [&](std::string_view what) {
    findings_.push_back(fmt::format("artifact {} ({}): {}", rid, text, what));
  };
  const auto name = HashName::parse(text);
  if (!name) return report("its name is not 40 or 64 lower-case hex digits");
  const auto content = r_.contents.get(rid);
  if (!content) {
    // The chain may end in a phantom: then it cannot be checked yet, which is no fault.
    if (content.error().code != ErrorCode::kNotFound) report(content.error().message);
    return;
  }
  if (!name->names(**content)) return report("its content does not have that hash");
  if (static_cast<std::int64_t>((*content)->size()) != size) {
    report(fmt::format("blob.size says {} bytes, it has {}", size, (*content)->size()));
  }
  if (const Manifest parsed = r_.manifests.parse(rid, **content)) {
    structural_.emplace_back(rid, parsed->type);
  }
}

void Verification::check_artifacts(const std::function<void(std::size_t, std::size_t)>& progress) {
  check_integrity();
  std::size_t total = 0;
  {
    Query count = r_.database.query("SELECT count(*) FROM blob");
    if (count.step()) total = static_cast<std::size_t>(count.integer(0));
  }
  {
    Query lost = r_.database.query(
        "SELECT delta.rid, delta.srcid FROM delta LEFT JOIN blob AS s ON s.rid=delta.srcid"
        " LEFT JOIN blob AS b ON b.rid=delta.rid WHERE s.rid IS NULL OR b.rid IS NULL");
    while (lost.step()) {
      findings_.push_back(fmt::format("delta: the row {} -> {} names an artifact that is not there",
                                      lost.integer(0), lost.integer(1)));
    }
  }
  {
    Query hidden = r_.database.query(
        "SELECT b.uuid, s.uuid FROM private AS p CROSS JOIN delta AS d INDEXED BY delta_i1"
        " ON d.srcid=p.rid JOIN blob AS b ON b.rid=d.rid JOIN blob AS s ON s.rid=d.srcid"
        " WHERE NOT EXISTS(SELECT 1 FROM private WHERE rid=d.rid)");
    while (hidden.step()) {
      findings_.push_back(fmt::format("delta: {} is public and made from {}, which is private",
                                      hidden.text(0), hidden.text(1)));
    }
  }
  std::size_t done = 0;
  Query query = r_.database.query("SELECT rid, uuid, size FROM blob ORDER BY rid DESC");
  while (query.step()) {
    if (query.integer(2) >= 0) {
      check_artifact(query.integer(0), std::string(query.text(1)), query.integer(2));
    }
    ++done;
    if (progress) progress(done, total);
  }
}

void Verification::check_derived() {
  const std::vector<DerivedRows> comparisons = derived_rows(r_.database);
  for (const DerivedRows& comparison : comparisons) {
    r_.database.execute(fmt::format("CREATE TEMP TABLE before_{}(line); INSERT INTO before_{} {}",
                                    comparison.table, comparison.table, comparison.rows));
  }
  r_.database.execute("BEGIN");
  clear_derived(r_.database);
  r_.names.forget_all();
  // What is shunned keeps its rows until a rebuild takes it out.
  for (const auto& [rid, type] : structural_) r_.derivation.arrived(rid, type);
  r_.derivation.run();
  for (const DerivedRows& comparison : comparisons) compare(comparison);
  r_.database.execute("ROLLBACK");
}

void Verification::compare(const DerivedRows& comparison) {
  const auto report = [&](std::string_view verdict, const std::string& sql) {
    Query query = r_.database.query(sql);
    std::size_t count = 0;
    while (query.step()) {
      if (++count <= kMaxFindingsPerTable) {
        findings_.push_back(fmt::format("{}: {}: {}", comparison.table, verdict, query.text(0)));
      }
    }
    if (count > kMaxFindingsPerTable) {
      findings_.push_back(fmt::format("{}: {}: {} rows more", comparison.table, verdict,
                                      count - kMaxFindingsPerTable));
    }
  };
  r_.database.execute(fmt::format("CREATE TEMP TABLE after_{}(line); INSERT INTO after_{} {}",
                                  comparison.table, comparison.table, comparison.rows));
  const auto counted = [&](const char* when) {
    return fmt::format("SELECT line, count(*) FROM {}_{} GROUP BY line", when, comparison.table);
  };
  report("is there but should not be",
         fmt::format("{} EXCEPT {}", counted("before"), counted("after")));
  report("should be there but is not",
         fmt::format("{} EXCEPT {}", counted("after"), counted("before")));
}

}  // namespace

base::Result<Findings> verify(const std::filesystem::path& path,
                              const std::function<void(std::size_t, std::size_t)>& progress) {
  if (!std::filesystem::exists(path)) {
    return base::fail(ErrorCode::kNotFound, fmt::format("{}: no such file", path.string()));
  }
  return guarded(path, [&]() -> base::Result<Findings> {
    const TemporaryFile copy;
    {
      const auto original = open_original(path);
      if (!original->has_table("blob") || !original->has_table("plink")) {
        return base::fail(ErrorCode::kInvalid,
                          fmt::format("{}: not a Fossil repository", path.string()));
      }
      Database target(copy.path(), Database::Mode::kReadWrite, OpenOptions().busy_timeout);
      copy_database(*original, target);
    }
    OpenOptions options;
    options.content_cache_size = std::size_t{64} << 20;
    Repository::State state(copy.path(), options);
    state.database.execute("PRAGMA journal_mode=MEMORY; PRAGMA synchronous=OFF");
    // What an old repository lacks is lacking in the comparison, too.
    complete_schema(state.database);
    Verification verification(state);
    verification.check_artifacts(progress);
    verification.check_derived();
    return verification.take();
  });
}

}  // namespace quarry::repository
