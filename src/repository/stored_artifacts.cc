// Reads artifacts as they are stored, for a clone. Rows are read in rid order. Payloads are copied
// only once, from SQLite's pages into the reply.

#include "quarry/repository/repository.h"
#include "repository_state.h"

namespace quarry::repository {

using artifact::HashName;

namespace {

// Each query reads a row, including a payload of up to a page. Larger payloads are read later.
// kPublicRows leaves out hidden artifacts. kAllRows is faster, and is used if there are no hidden
// artifacts. With outdated statistics, SQLite can scan whole tables for kAllRows and kPublicRows.
// In this case, kOneRow is used. With good statistics, kOneRow is a third slower than the other
// queries.
constexpr const char* kAllRows =
    "SELECT b.rid, b.uuid, b.size, s.uuid, length(b.content),"
    " CASE WHEN length(b.content)<=4096 THEN b.content END"
    " FROM blob AS b LEFT JOIN delta AS d ON d.rid=b.rid LEFT JOIN blob AS s ON s.rid=d.srcid"
    " WHERE b.rid>=?1 AND b.size>=0 ORDER BY b.rid";
constexpr const char* kPublicRows =
    "SELECT b.rid, b.uuid, b.size, s.uuid, length(b.content),"
    " CASE WHEN length(b.content)<=4096 THEN b.content END"
    " FROM blob AS b LEFT JOIN delta AS d ON d.rid=b.rid LEFT JOIN blob AS s ON s.rid=d.srcid"
    " WHERE b.rid>=?1 AND b.size>=0"
    " AND NOT EXISTS(SELECT 1 FROM shun WHERE uuid=b.uuid)"
    " AND NOT EXISTS(SELECT 1 FROM private WHERE rid=b.rid) ORDER BY b.rid";
constexpr const char* kOneRow =
    "SELECT rid, uuid, size,"
    " (SELECT uuid FROM blob WHERE rid=(SELECT srcid FROM delta WHERE rid=b.rid)),"
    " length(content), CASE WHEN length(content)<=4096 THEN content END,"
    " size>=0 AND NOT EXISTS(SELECT 1 FROM shun WHERE uuid=b.uuid)"
    " AND NOT EXISTS(SELECT 1 FROM private WHERE rid=b.rid)"
    " FROM blob AS b WHERE rid=?1";

/// Iterates over the rows of artifacts that can be cloned, in rid order.
class StoredRows {
 public:
  StoredRows(Database& database, Rid first, bool has_hidden)
      : database_(database), row_(rows(database, has_hidden)), next_(first) {
    if (!is_sought_) {
      row_.bind(first);
      return;
    }
    Query query = database.query("SELECT max(rid) FROM blob");
    if (query.step()) last_ = query.integer(0);
  }

  /// Advances to the next row. Returns false if there are no more rows.
  bool step() { return is_sought_ ? seek() : row_.step(); }
  const Query& row() const { return row_; }

 private:
  /// Returns the query for the rows. If SQLite's statistics say that the table is tiny, SQLite
  /// would scan the whole table for each row. In this case, kOneRow looks up each row by its id.
  Query rows(Database& database, bool has_hidden) {
    const char* const sql = has_hidden ? kPublicRows : kAllRows;
    is_sought_ = database.would_scan(sql);
    return database.query(is_sought_ ? kOneRow : sql);
  }

  bool seek() {
    for (int missing = 0; next_ <= last_; ++next_) {
      row_.rewind();
      if (row_.bind(next_).step()) {
        missing = 0;
        if (row_.integer(6) == 0) continue;
        ++next_;
        return true;
      }
      if (++missing < kWideGap) continue;
      missing = 0;
      Query query = database_.query("SELECT min(rid) FROM blob WHERE rid>?1", next_);
      if (query.step()) next_ = query.integer(0) - 1;
    }
    return false;
  }

  // After this number of consecutive unused row ids, a query finds the next row. This query is
  // faster than looking up more ids, even if SQLite scans the whole table.
  static constexpr int kWideGap = 10000;

  Database& database_;
  bool is_sought_ = false;
  Query row_;
  Rid next_;
  Rid last_ = 0;
};

}  // namespace

/// The stored bytes of the current row: a view or, for large payloads, an incremental-I/O handle
/// that reads directly into the reply.
class StoredPayload {
 public:
  StoredPayload(Database& database, const std::filesystem::path& path)
      : database_(database), path_(path) {}
  ~StoredPayload() { sqlite3_blob_close(handle_); }
  StoredPayload(const StoredPayload&) = delete;
  StoredPayload& operator=(const StoredPayload&) = delete;

  /// Moves to the row RID. IN_ROW is null if the row does not include the payload.
  void moved_to(Rid rid, std::string_view in_row) {
    rid_ = rid;
    in_row_ = in_row;
  }

  Result<void> append_to(std::string& out) {
    if (in_row_.data() != nullptr) {
      out += in_row_;
      return {};
    }
    return guarded(path_, [&] { append_large(out); });
  }

 private:
  void append_large(std::string& out) {
    int code = SQLITE_OK;
    if (handle_ == nullptr) {
      code = sqlite3_blob_open(database_.handle(), "main", "blob", "content", rid_, 0, &handle_);
    } else {
      code = sqlite3_blob_reopen(handle_, rid_);
    }
    if (code != SQLITE_OK) database_.raise(code);
    const int size = sqlite3_blob_bytes(handle_);
    const std::size_t before = out.size();
    // The size argument is not used, because libstdc++ 12 passes the capacity instead.
    const std::size_t after = before + static_cast<std::size_t>(size);
    out.resize_and_overwrite(after, [&](char* bytes, std::size_t) {
      code = sqlite3_blob_read(handle_, bytes + before, size, 0);
      return code == SQLITE_OK ? after : before;
    });
    if (code != SQLITE_OK) database_.raise(code);
  }

  Database& database_;
  const std::filesystem::path& path_;
  sqlite3_blob* handle_ = nullptr;
  Rid rid_ = 0;
  std::string_view in_row_;
};

Result<void> StoredArtifact::append_to(std::string& out) const {
  return payload->append_to(out);
}

Result<Rid> Repository::visit_stored(Rid first,
                                     const std::function<bool(const StoredArtifact&)>& visit) {
  return guarded(state_->path, [&]() -> Result<Rid> {
    StoredPayload payload(state_->database, state_->path);
    const bool has_hidden = has_any_shunned() || state_->privacy.hides_anything();
    StoredRows rows(state_->database, first, has_hidden);
    const Query& query = rows.row();
    const auto& waiting = state_->waiting_ones();
    while (rows.step()) {
      const Rid rid = query.integer(0);
      if (!waiting.empty() && waiting.contains(rid)) continue;
      const auto name = HashName::parse(query.text(1));
      if (!name) {
        return fail(ErrorCode::kCorrupt, "artifact {}: its name is not a hash", rid);
      }
      payload.moved_to(rid, query.blob(5));
      const StoredArtifact stored{.rid = rid,
                                  .name = *name,
                                  .size = query.integer(2),
                                  .delta_source = HashName::parse(query.text(3)),
                                  .stored_size = query.integer(4),
                                  .payload = &payload};
      if (!visit(stored)) return rid;
    }
    return Rid{0};
  });
}

}  // namespace quarry::repository
