// Proving a repository file: every artifact has the content that its name says, and the derived
// tables are those that a recomputation gives. All is done on a private copy; the file is only
// read.

#include <fmt/core.h>
#include <unistd.h>

#include <array>
#include <cstdlib>

#include "older_schema.h"
#include "repository_state.h"
#include "ticket_fields.h"

namespace quarry::repository {

using artifact::HashName;
using base::ErrorCode;

namespace {

constexpr std::size_t kMaxFindingsPerTable = 20;

/// A table and how to tell its rows without row numbers that a recomputation may change.
struct Comparison {
  const char* table;
  std::string rows;  // a SELECT of one text column
};

// A table that a repository does not have has no rows. The ticket tables, whose columns are the
// project's own, are added to these.
const auto kComparisons = std::to_array<Comparison>({
    {"event",
     "SELECT (SELECT uuid FROM blob WHERE rid=objid)||': '||type||' '||quote(mtime)||' '||"
     "quote(omtime)||' user '||quote(user)||' '||quote(euser)||' colour '||quote(bgcolor)||"
     "' comment '||quote(comment)||' '||quote(ecomment)||' '||quote(brief)||' '||"
     "coalesce((SELECT tagname FROM tag WHERE tag.tagid=event.tagid),'') FROM event"},
    {"plink",
     "SELECT (SELECT uuid FROM blob WHERE rid=pid)||' -> '||(SELECT uuid FROM blob WHERE rid=cid)||"
     "' primary '||isprim||' '||quote(mtime)||' baseline '||"
     "coalesce((SELECT uuid FROM blob WHERE rid=baseid),'none') FROM plink"},
    {"mlink",
     "SELECT (SELECT uuid FROM blob WHERE rid=mid)||' '||coalesce((SELECT name FROM filename WHERE "
     "filename.fnid=mlink.fnid),'?')||' to '||coalesce((SELECT uuid FROM blob WHERE rid=fid),fid)||"
     "' parent '||coalesce((SELECT uuid FROM blob WHERE rid=pmid),pmid)||' from '||"
     "coalesce((SELECT uuid FROM blob WHERE rid=pid),pid)||' was '||coalesce((SELECT name FROM "
     "filename WHERE filename.fnid=pfnid),pfnid)||' perm '||mperm||' aux '||isaux FROM mlink"},
    {"cherrypick",
     "SELECT (SELECT uuid FROM blob WHERE rid=parentid)||' -> '||(SELECT uuid FROM blob WHERE "
     "rid=childid)||' exclude '||isExclude FROM cherrypick"},
    {"leaf", "SELECT (SELECT uuid FROM blob WHERE blob.rid=leaf.rid) FROM leaf"},
    {"tagxref",
     "SELECT (SELECT uuid FROM blob WHERE blob.rid=tagxref.rid)||' '||(SELECT tagname FROM tag "
     "WHERE "
     "tag.tagid=tagxref.tagid)||' type '||tagtype||' by '||coalesce((SELECT uuid FROM blob WHERE "
     "rid=srcid),srcid)||' from '||coalesce((SELECT uuid FROM blob WHERE rid=origid),origid)||' '||"
     "quote(value)||' '||CASE tagid WHEN 7 THEN '' ELSE quote(mtime) END FROM tagxref"},
    {"backlink",
     "SELECT CASE srctype WHEN 2 THEN (SELECT tagname FROM tag WHERE tagid=srcid) ELSE (SELECT uuid"
     " FROM blob WHERE rid=srcid) END||' ('||srctype||') links to '||target||' '||quote(mtime)"
     " FROM backlink"},
    {"attachment",
     "SELECT (SELECT uuid FROM blob WHERE rid=attachid)||' latest '||isLatest||' '||quote(mtime)||"
     "' '||quote(src)||' to '||quote(target)||' as '||quote(filename)||' comment "
     "'||quote(comment)||"
     "' user '||quote(user) FROM attachment"},
    {"forumpost",
     "SELECT (SELECT uuid FROM blob WHERE rid=fpid)||' root '||(SELECT uuid FROM blob WHERE "
     "rid=froot)||' after '||coalesce((SELECT uuid FROM blob WHERE rid=fprev),'none')||' to '||"
     "coalesce((SELECT uuid FROM blob WHERE rid=firt),'none')||' '||quote(fmtime) FROM forumpost"},
    // What is shunned may stand in these two until a rebuild takes it out.
    {"unclustered",
     "SELECT uuid FROM unclustered JOIN blob USING(rid) WHERE uuid NOT IN (SELECT uuid FROM shun)"},
    {"phantom",
     "SELECT uuid FROM phantom JOIN blob USING(rid) WHERE uuid NOT IN (SELECT uuid FROM shun)"},
    {"orphan",
     "SELECT (SELECT uuid FROM blob WHERE blob.rid=orphan.rid)||' waits for '||"
     "(SELECT uuid FROM blob WHERE blob.rid=orphan.baseline) FROM orphan"},
});

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

class Verification {
 public:
  explicit Verification(Repository::State& copy) : r_(copy) {}

  void check_artifacts(const std::function<void(std::size_t, std::size_t)>& progress);
  void check_derived();
  Findings take() { return std::move(findings_); }

 private:
  void check_artifact(Rid rid, const std::string& text, std::int64_t size);
  void check_integrity();
  void compare(const Comparison& comparison);

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

/// A SELECT of the rows of a ticket table, each column by its name, those with row numbers as the
/// names that these stand for.
std::string ticket_rows(Database& database, const std::string& table) {
  std::string rows;
  Query columns = database.query("SELECT name FROM pragma_table_info(?1)");
  columns.bind(1, table);
  while (columns.step()) {
    const std::string_view name = columns.text(0);
    if (name == "tkt_id" && table == "ticket") continue;
    std::string value = fmt::format("quote({}.{})", table, sql_name(name));
    if (name == "tkt_id") {
      value = "quote((SELECT tkt_uuid FROM ticket WHERE ticket.tkt_id=ticketchng.tkt_id))";
    }
    if (name == "tkt_rid" || name.starts_with("baseline for ")) {
      value = fmt::format("quote((SELECT uuid FROM blob WHERE rid={}.{}))", table, sql_name(name));
    }
    rows += fmt::format("{}{}||' '", rows.empty() ? "" : "||", value);
  }
  return fmt::format("SELECT {} FROM {}", rows, table);
}

void Verification::check_derived() {
  std::vector<Comparison> comparisons;
  for (const Comparison& comparison : kComparisons) {
    if (r_.database.has_table(comparison.table)) comparisons.push_back(comparison);
  }
  for (const char* table : {"ticket", "ticketchng"}) {
    if (r_.database.has_table(table)) {
      comparisons.push_back({table, ticket_rows(r_.database, table)});
    }
  }
  for (const Comparison& comparison : comparisons) {
    r_.database.execute(fmt::format("CREATE TEMP TABLE before_{}(line); INSERT INTO before_{} {}",
                                    comparison.table, comparison.table, comparison.rows));
  }
  r_.database.execute("BEGIN");
  clear_derived(r_.database);
  r_.names.forget_all();
  // What is shunned keeps its rows until a rebuild takes it out.
  for (const auto& [rid, type] : structural_) r_.derivation.arrived(rid, type);
  r_.derivation.run();
  for (const Comparison& comparison : comparisons) compare(comparison);
  r_.database.execute("ROLLBACK");
}

void Verification::compare(const Comparison& comparison) {
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
      Database original(path, Database::Mode::kReadOnly, OpenOptions().busy_timeout);
      if (!original.has_table("blob") || !original.has_table("plink")) {
        return base::fail(ErrorCode::kInvalid,
                          fmt::format("{}: not a Fossil repository", path.string()));
      }
      Database target(copy.path(), Database::Mode::kReadWrite, OpenOptions().busy_timeout);
      copy_database(original, target);
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
