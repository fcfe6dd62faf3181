// Reading artifacts as they are stored, for a clone: rows in rid order, payloads copied once, from
// SQLite's pages into the reply.
#include <fmt/core.h>

#include "quarry/repository/repository.h"
#include "repository_state.h"

namespace quarry::repository {

using artifact::HashName;
using base::ErrorCode;

namespace {

// Most repositories hide nothing, and need not look for it at every row. A payload of up to a page
// comes with its row; SQLite never loads a larger one for it.
constexpr const char* kAllRows =
    "SELECT b.rid, b.uuid, b.size, s.uuid, length(b.content),"
    " CASE WHEN length(b.content)<=4096 THEN b.content END"
    " FROM blob AS b LEFT JOIN delta AS d ON d.rid=b.rid LEFT JOIN blob AS s ON s.rid=d.srcid"
    " WHERE b.rid>=?1 AND b.size>=0 ORDER BY b.rid";
constexpr const char* kPublicRows =
    "SELECT b.rid, b.uuid, b.size, s.uuid, length(b.content),"
    " CASE WHEN length(b.content)<=4096 THEN b.content END"
    " FROM blob AS b LEFT JOIN delta AS d ON d.rid=b.rid LEFT JOIN blob AS s ON s.rid=d.srcid"
    " WHERE b.rid>=?1 AND b.size>=0 AND NOT EXISTS(SELECT 1 FROM shun WHERE uuid=b.uuid)"
    " AND NOT EXISTS(SELECT 1 FROM private WHERE rid=b.rid) ORDER BY b.rid";

}  // namespace

/// The stored bytes of the row that is visited: a view of it, or, for large ones, what one
/// incremental-I/O handle reads straight into the reply.
class StoredPayload {
 public:
  StoredPayload(Database& database, const std::filesystem::path& path)
      : database_(database), path_(path) {}
  ~StoredPayload() { sqlite3_blob_close(handle_); }
  StoredPayload(const StoredPayload&) = delete;
  StoredPayload& operator=(const StoredPayload&) = delete;

  /// IN_ROW is null when the row does not have it.
  void moved_to(Rid rid, std::string_view in_row) {
    rid_ = rid;
    in_row_ = in_row;
  }

  base::Result<void> append_to(std::string& out) {
    if (in_row_.data() != nullptr) {
      out += in_row_;
      return {};
    }
    return guarded(path_, [&]() -> base::Result<void> {
      append_large(out);
      return {};
    });
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
    // The number that GCC 12 hands to the function is the capacity, not the size asked for.
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

base::Result<void> StoredArtifact::append_to(std::string& out) const {
  return payload->append_to(out);
}

base::Result<Rid> Repository::visit_stored(
    Rid first, const std::function<bool(const StoredArtifact&)>& visit) {
  return guarded(state_->path, [&]() -> base::Result<Rid> {
    StoredPayload payload(state_->database, state_->path);
    const bool has_hidden =
        has_any_shunned() || state_->database.query("SELECT 1 FROM private LIMIT 1").step();
    Query query = state_->database.query(has_hidden ? kPublicRows : kAllRows);
    query.bind(1, first);
    const auto& waiting = state_->waiting_ones();
    while (query.step()) {
      const Rid rid = query.integer(0);
      if (!waiting.empty() && waiting.contains(rid)) continue;
      const auto name = HashName::parse(query.text(1));
      if (!name) {
        return base::fail(ErrorCode::kCorrupt, fmt::format("artifact {} has no name", rid));
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
