// Unversioned files: a table with the newest content of each name.
//
//   unversioned   name · rcvid · mtime (seconds since 1970) · hash, NULL if it was deleted · sz,
//                 the uncompressed size · encoding: 0 plain, 1 as blob.content · content
//   config        `uv-hash`: a cached hash over all files; every change deletes it
//
// The table is created when the first file is stored.

#include <fmt/core.h>

#include "quarry/artifact/blob.h"
#include "quarry/artifact/digest.h"
#include "receipt_state.h"

namespace quarry::repository {

using artifact::HashName;

namespace {

constexpr const char* kTable = "unversioned";
constexpr const char* kHashSetting = "uv-hash";
constexpr std::string_view kDeleted = "-";

constexpr int kPlain = 0;
constexpr int kCompressed = 1;

constexpr const char* kSchema =
    "CREATE TABLE unversioned("
    "uvid INTEGER PRIMARY KEY AUTOINCREMENT,name TEXT UNIQUE,rcvid INTEGER,mtime DATETIME,"
    "hash TEXT,sz INTEGER,encoding INT,content BLOB)";

UnversionedFile file_of(const Query& row) {
  UnversionedFile file{
      .name = std::string(row.text(0)), .mtime = row.integer(1), .size = row.integer(3)};
  if (!row.is_null(2)) file.hash = std::string(row.text(2));
  return file;
}

std::optional<UnversionedFile> find_row(Database& database, std::string_view name) {
  if (!database.has_table(kTable)) return std::nullopt;
  Query query = database.query("SELECT name, mtime, hash, sz FROM unversioned WHERE name=?1", name);
  if (!query.step()) return std::nullopt;
  return file_of(query);
}

/// The result of comparing an arrival with the stored file.
enum class Verdict { kNewer, kSameContentLater, kKnown };

Verdict compare(const UnversionedArrival& arrival, const std::optional<UnversionedFile>& known) {
  if (!known) return Verdict::kNewer;
  const std::string_view known_hash = known->hash ? std::string_view(*known->hash) : kDeleted;
  if (arrival.mtime != known->mtime) {
    if (arrival.mtime < known->mtime) return Verdict::kKnown;
    return arrival.hash == known_hash ? Verdict::kSameContentLater : Verdict::kNewer;
  }
  return arrival.hash > known_hash ? Verdict::kNewer : Verdict::kKnown;
}

Result<void> check(const UnversionedArrival& arrival, std::size_t max_size) {
  if (!arrival.content) return {};
  if (arrival.content->size() > max_size) {
    return fail(ErrorCode::kLimit, "the unversioned file {} is {} bytes long; the limit is {}",
                arrival.name, arrival.content->size(), max_size);
  }
  if (arrival.hash == kDeleted) return {};
  const auto name = HashName::parse(arrival.hash);
  if (name && name->names(*arrival.content)) return {};
  return fail(ErrorCode::kInvalid, "in uvfile line, HASH does not match CONTENT");
}

void write(Database& database, const UnversionedArrival& arrival, Rid receipt) {
  if (!database.has_table(kTable)) database.execute(kSchema);
  const std::string_view content = *arrival.content;
  const std::string compressed = artifact::blob_compress(content);
  const bool smaller = compressed.size() * 5 < content.size() * 4;
  const Blob stored{smaller ? std::string_view(compressed) : content};
  database.execute(
      "REPLACE INTO unversioned(name,rcvid,mtime,hash,sz,encoding,content)"
      " VALUES(?1,?2,?3,?4,?5,?6,?7)",
      arrival.name, receipt, arrival.mtime, arrival.hash, content.size(),
      smaller ? kCompressed : kPlain, content.empty() ? std::nullopt : std::optional(stored));
}

}  // namespace

std::vector<UnversionedFile> UnversionedFiles::all() {
  std::vector<UnversionedFile> files;
  if (!state_->database.has_table(kTable)) return files;
  Query query =
      state_->database.query("SELECT name, mtime, hash, sz FROM unversioned ORDER BY uvid");
  while (query.step()) files.push_back(file_of(query));
  return files;
}

std::optional<UnversionedFile> UnversionedFiles::find(std::string_view name) {
  return find_row(state_->database, name);
}

const std::string& UnversionedFiles::hash() {
  if (!state_->unversioned_hash) state_->unversioned_hash = Settings(*state_).get(kHashSetting);
  if (!state_->unversioned_hash) {
    std::string text;
    if (state_->database.has_table(kTable)) {
      Query query = state_->database.query(
          "SELECT name, datetime(mtime,'unixepoch'), hash FROM unversioned"
          " WHERE hash IS NOT NULL ORDER BY name");
      while (query.step()) {
        text += fmt::format("{} {} {}\n", query.text(0), query.text(1), query.text(2));
      }
    }
    state_->unversioned_hash = artifact::sha1_hex(text);
  }
  return *state_->unversioned_hash;
}

Result<std::string> UnversionedFiles::content(std::string_view name) {
  return guarded(state_->path, [&]() -> Result<std::string> {
    const auto none = [&] {
      return fail(ErrorCode::kNotFound, "the content of the unversioned file {} is missing", name);
    };
    if (!state_->database.has_table(kTable)) return none();
    Query query = state_->database.query(
        "SELECT encoding, content, sz FROM unversioned WHERE name=?1 AND hash IS NOT NULL"
        // Leave out files whose content has never arrived. Fossil stores them with size 0, but with
        // a hash that is not the hash of an empty file.
        " AND (content IS NOT NULL OR hash IN ('da39a3ee5e6b4b0d3255bfef95601890afd80709',"
        "'a7ffc6f8bf1ed76651c14756a061d662f580ff4de43b49fa82d80a4b80f8434a'))",
        name);
    if (!query.step()) return none();
    if (query.integer(0) == kPlain) return std::string(query.blob(1));
    return artifact::blob_expand(query.blob(1), state_->options.max_artifact_size);
  });
}

Result<bool> Receipt::store_unversioned(const UnversionedArrival& arrival) {
  return guarded(state_->r, [&](auto& r) -> Result<bool> {
    const bool deleted = arrival.hash == kDeleted;
    QUARRY_TRY(check(arrival, r.options.max_artifact_size));
    const auto known = find_row(r.database, arrival.name);
    const Verdict verdict = compare(arrival, known);
    if (verdict == Verdict::kKnown) return false;
    if (verdict == Verdict::kSameContentLater && !deleted) {
      r.database.execute("UPDATE unversioned SET mtime=?2 WHERE name=?1", arrival.name,
                         arrival.mtime);
    } else if (deleted) {
      // A deletion of an unknown file need not be stored.
      if (!known) return false;
      r.database.execute(
          "UPDATE unversioned SET rcvid=?2, mtime=?3, hash=NULL, sz=0, encoding=0, content=NULL"
          " WHERE name=?1",
          arrival.name, state_->receipt_id(), arrival.mtime);
    } else {
      if (!arrival.content) return false;
      write(r.database, arrival, state_->receipt_id());
    }
    r.unversioned_hash.reset();
    QUARRY_TRY(set_config(kHashSetting, std::nullopt));
    return true;
  });
}

Result<void> Receipt::replace_unversioned(const UnversionedArrival& arrival) {
  return guarded(state_->r, [&](auto& r) -> Result<void> {
    QUARRY_TRY(check(arrival, r.options.max_artifact_size));
    const auto known = find_row(r.database, arrival.name);
    if (known && known->hash.value_or(std::string(kDeleted)) == arrival.hash) {
      r.database.execute("UPDATE unversioned SET mtime=?2 WHERE name=?1", arrival.name,
                         arrival.mtime);
    } else if (arrival.hash == kDeleted) {
      if (!r.database.has_table(kTable)) r.database.execute(kSchema);
      r.database.execute(
          "REPLACE INTO unversioned(name,rcvid,mtime,hash,sz,encoding,content)"
          " VALUES(?1,?2,?3,NULL,0,0,NULL)",
          arrival.name, state_->receipt_id(), arrival.mtime);
    } else if (arrival.content) {
      write(r.database, arrival, state_->receipt_id());
    }
    r.unversioned_hash.reset();
    return set_config(kHashSetting, std::nullopt);
  });
}

Result<void> Receipt::remove_unversioned(std::string_view name) {
  return guarded(state_->r, [&](auto& r) -> Result<void> {
    if (!r.database.has_table(kTable)) return {};
    r.database.execute("DELETE FROM unversioned WHERE name=?1", name);
    r.unversioned_hash.reset();
    return set_config(kHashSetting, std::nullopt);
  });
}

}  // namespace quarry::repository
