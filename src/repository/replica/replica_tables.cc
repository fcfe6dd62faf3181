#include "quarry/repository/replica_tables.h"

#include <fmt/core.h>

#include <algorithm>
#include <iterator>
#include <set>
#include <unordered_map>

#include "quarry/artifact/blob.h"
#include "quarry/artifact/digest.h"
#include "quarry/base/log.h"
#include "quarry/repository/configuration.h"
#include "repository_state.h"

namespace quarry::repository {

using artifact::HashName;

namespace {

// Number of receipts before the last published one that are examined again.
constexpr std::int64_t kRecentReceipts = 100;

constexpr std::string_view kUnversioned = "unversioned";
constexpr std::string_view kPrivate = "private";

// The types of events that can be in `pending_alert`; see AlertReference.
constexpr std::string_view kEventTypes = "cefgtw";

constexpr const char* kReplicaSchema =
    "CREATE TABLE fx_quarry_replica(id INTEGER PRIMARY KEY CHECK(id=1), created INT, sequence INT,"
    " receipt INT, first INT, host TEXT);"
    "CREATE TABLE fx_quarry_replica_sent(rcvid INTEGER PRIMARY KEY, rid INT, artifacts INT);"
    "CREATE TABLE fx_quarry_replica_received(rcvid INTEGER PRIMARY KEY);"
    "CREATE TABLE fx_quarry_replica_late(rid INTEGER PRIMARY KEY);"
    "CREATE TABLE fx_quarry_replica_private(rid INTEGER PRIMARY KEY);"
    "CREATE TABLE fx_quarry_replica_row(name TEXT, key TEXT, digest TEXT, PRIMARY KEY(name,key))"
    " WITHOUT ROWID;"
    "CREATE TABLE fx_quarry_replica_number(host TEXT PRIMARY KEY, number INT) WITHOUT ROWID;"
    // AUTOINCREMENT remembers the number of the last change after it was removed.
    "CREATE TABLE fx_quarry_replica_out(number INTEGER PRIMARY KEY AUTOINCREMENT, content BLOB)";

// Maximum number of queued changes that are remembered.
constexpr std::size_t kMaxQueued = 1000;

/// Calls VISIT for all rows whose digest TAKES. A digest depends on the key of the row.
void visit_rows(RepositoryState& state, const std::function<bool(const std::string&)>& takes,
                const std::function<void(ChangedRow&&)>& visit) {
  Settings(state).visit_whole_configuration([&](std::string_view name, std::string_view content) {
    std::string digest = artifact::sha3_256_hex(fmt::format("{} {}", name, content));
    if (!takes(digest)) return;
    const auto record = parse_config_record(name, content, true);
    if (!record || record->key.empty()) return;
    visit({record->table, record->key, std::string(content), std::move(digest),
           record->mtime.value_or(0)});
  });
  if (!state.database.has_table(kUnversioned)) return;
  Query query = state.database.query(
      "SELECT name, mtime, ifnull(hash,'-') FROM unversioned"
      // Leave out files whose content has never arrived (see receipt/unversioned.cc).
      " WHERE hash IS NULL OR content IS NOT NULL"
      " OR hash IN ('da39a3ee5e6b4b0d3255bfef95601890afd80709',"
      "'a7ffc6f8bf1ed76651c14756a061d662f580ff4de43b49fa82d80a4b80f8434a')");
  while (query.step()) {
    std::string digest = fmt::format("{} {} {}", query.integer(1), query.text(2), query.text(0));
    if (!takes(digest)) continue;
    visit({std::string(kUnversioned),
           std::string(query.text(0)),
           {},
           std::move(digest),
           query.integer(1)});
  }
}

/// Compares the rows of a repository with their digests.
class Comparison {
 public:
  explicit Comparison(RepositoryState& state) : state_(state) {
    Query query = state.database.query("SELECT name, key, digest FROM fx_quarry_replica_row");
    while (query.step()) {
      known_.emplace(query.text(2),
                     std::pair<std::string, std::string>(query.text(0), query.text(1)));
    }
  }

  std::vector<ChangedRow> run() {
    visit_rows(
        state_, [this](const std::string& digest) { return known_.erase(digest) == 0; },
        [this](ChangedRow&& row) { changed_.push_back(std::move(row)); });
    find_removed();
    find_published();
    return std::move(changed_);
  }

 private:
  /// Adds the rows that are missing.
  void find_removed() {
    std::set<std::pair<std::string_view, std::string_view>> present;
    for (const ChangedRow& row : changed_) present.emplace(row.table, row.key);
    std::vector<ChangedRow> removed;
    for (const auto& [digest, row] : known_) {
      if (!present.contains(row)) removed.push_back({row.first, row.second});
    }
    std::ranges::move(removed, std::back_inserter(changed_));
  }

  void find_published() {
    Query query = state_.database.query(
        "SELECT (SELECT uuid FROM blob WHERE rid=p.rid AND size>=0)"
        " FROM fx_quarry_replica_private AS p"
        " WHERE NOT EXISTS(SELECT 1 FROM private WHERE rid=p.rid)");
    while (query.step()) {
      if (!query.is_null(0))
        changed_.push_back({std::string(kPrivate), std::string(query.text(0))});
    }
  }

  RepositoryState& state_;
  /// Table and key of each row that was not found yet, by digest.
  std::unordered_map<std::string, std::pair<std::string, std::string>> known_;
  std::vector<ChangedRow> changed_;
};

void read_sender(Database& database, UnpublishedReceipt& receipt) {
  Query query = database.query(
      "SELECT mtime, ipaddr, (SELECT login FROM user WHERE uid=rcvfrom.uid) FROM rcvfrom"
      " WHERE rcvid=?1",
      receipt.receipt);
  if (!query.step()) return;
  receipt.time = base::from_julian_day(query.real(0));
  receipt.address = query.text(1);
  receipt.login = query.text(2);
}

/// Returns the receipt before the first one that is examined.
std::int64_t start_of(Database& database) {
  return database.first_integer("SELECT max(receipt-?1, first) FROM fx_quarry_replica WHERE id=1",
                                kRecentReceipts);
}

void add_late(RepositoryState& state, std::vector<UnpublishedReceipt>& to) {
  Query query = state.database.query(
      "SELECT l.rid, ifnull((SELECT rcvid FROM blob WHERE rid=l.rid AND size>=0),0),"
      " EXISTS(SELECT 1 FROM shun WHERE uuid=(SELECT uuid FROM blob WHERE rid=l.rid))"
      " FROM fx_quarry_replica_late AS l");
  while (query.step()) {
    const Rid rid = query.integer(0);
    const std::int64_t receipt = query.integer(1);
    // An artifact that was deleted, or is a phantom again, is removed from the table when it is
    // published as a part without artifacts.
    const bool must_wait = query.integer(2) != 0 || state.waiting_ones().contains(rid);
    if (receipt != 0 && must_wait) continue;
    to.push_back({.receipt = receipt, .after = rid - 1, .last = rid, .is_late = true});
  }
}

/// Returns the number of artifacts of RECEIPT up to the artifact LAST.
std::int64_t artifacts_up_to(Database& database, std::int64_t receipt, Rid last) {
  return database.first_integer(
      "SELECT count(*) FROM blob INDEXED BY fx_quarry_received WHERE rcvid=?1 AND rid<=?2", receipt,
      last);
}

/// Returns the published part of RECEIPT.
PublishedArtifacts::Part sent_of(Database& database, std::int64_t receipt,
                                 const ReplicaTables::UnrecordedParts& unrecorded) {
  if (const auto part = unrecorded.find(receipt); part != unrecorded.end()) return part->second;
  Query query =
      database.query("SELECT rid, artifacts FROM fx_quarry_replica_sent WHERE rcvid=?1", receipt);
  if (!query.step()) return {.receipt = receipt};
  return {.receipt = receipt, .artifact = query.integer(0), .artifacts = query.integer(1)};
}

void trim(Database& database) {
  database.execute(
      "DELETE FROM fx_quarry_replica_sent WHERE rcvid<="
      "(SELECT receipt FROM fx_quarry_replica WHERE id=1)-?1",
      kRecentReceipts);
}

/// Reads artifacts as they are published.
class UnpublishedArtifacts {
 public:
  UnpublishedArtifacts(RepositoryState& state, const UnpublishedReceipt& receipt)
      : r_(state),
        receipt_(receipt),
        query_(state.database.query("SELECT rid, uuid, size, content,"
                                    " EXISTS(SELECT 1 FROM private WHERE rid=b.rid),"
                                    " EXISTS(SELECT 1 FROM shun WHERE uuid=b.uuid),"
                                    " ifnull((SELECT srcid FROM delta WHERE rid=b.rid),0)"
                                    " FROM blob AS b INDEXED BY fx_quarry_received"
                                    " WHERE rcvid=?1 AND rid>?2 AND rid<=?3 ORDER BY rid",
                                    receipt.receipt, receipt.after, receipt.last)) {}

  bool step() { return query_.step(); }
  Rid rid() const { return query_.integer(0); }
  bool must_wait() const { return query_.integer(5) != 0 || r_.waiting_ones().contains(rid()); }

  /// Returns the current artifact, or nullopt if it is a phantom or cannot be read.
  std::optional<UnpublishedArtifact> artifact() {
    const auto name = HashName::parse(query_.text(1));
    if (!name || query_.integer(2) < 0) return std::nullopt;
    UnpublishedArtifact found{.rid = rid(),
                              .name = *name,
                              .size = query_.integer(2),
                              .stored = query_.blob(3),
                              .is_private = query_.integer(4) != 0};
    const Rid source = query_.integer(6);
    if (source == 0) return found;
    found.source = published_name(source, found.is_private);
    if (found.source) return found;
    const auto content = r_.contents.get(rid());
    if (!content) {
      base::log(base::LogLevel::kError, "{}: cannot publish artifact {}: {}", r_.path.string(),
                name->str(), content.error().message);
      return std::nullopt;
    }
    whole_ = artifact::blob_compress(**content);
    found.stored = whole_;
    return found;
  }

 private:
  /// Returns the name of SOURCE if it is published before the current artifact.
  std::optional<HashName> published_name(Rid source, bool artifact_is_private) {
    if (!r_.privacy.may_be_delta_on(source, artifact_is_private)) return std::nullopt;
    Query query = r_.database.query(
        "SELECT uuid, rcvid, EXISTS(SELECT 1 FROM shun WHERE uuid=b.uuid)"
        " OR EXISTS(SELECT 1 FROM fx_quarry_replica_late WHERE rid=b.rid),"
        " EXISTS(SELECT 1 FROM fx_quarry_replica_received AS r WHERE r.rcvid=b.rcvid)"
        " FROM blob AS b WHERE rid=?1 AND size>=0",
        source);
    if (!query.step() || query.integer(2) != 0) return std::nullopt;
    const bool is_earlier =
        std::pair(query.integer(1), source) < std::pair(receipt_.receipt, rid());
    if (!is_earlier && query.integer(3) == 0) return std::nullopt;
    return HashName::parse(query.text(0));
  }

  RepositoryState& r_;
  const UnpublishedReceipt& receipt_;
  Query query_;
  std::string whole_;
};

}  // namespace

Result<bool> ReplicaTables::exist() {
  return guarded(repository_.internals(),
                 [](Database& database) { return database.has_table("fx_quarry_replica"); });
}

Result<void> ReplicaTables::create(const ReplicaPosition& position, std::string_view host,
                                   base::UnixMillis since) {
  const auto created = guarded(repository_.internals(), [&](Database& database) {
    database.execute(kReplicaSchema);
    // The receipt before the first one since SINCE.
    const std::int64_t published = database.first_integer(
        "SELECT ifnull(min(rcvid) FILTER (WHERE mtime>=?1)-1, max(rcvid)) FROM rcvfrom AS r",
        base::julian_day(since));
    database.execute("INSERT INTO fx_quarry_replica VALUES(1,?1,?2,?3,?3,?4)", position.created,
                     static_cast<std::int64_t>(position.sequence), published, host);
    database.execute("INSERT INTO fx_quarry_replica_private SELECT rid FROM private AS p");
  });
  QUARRY_TRY(created);
  QUARRY_TRY_ASSIGN(std::vector<ChangedRow> rows, changed_rows());
  std::erase_if(rows, [&](const ChangedRow& row) { return row.mtime >= since.value / 1000; });
  return record(rows);
}

Result<ReplicaPosition> ReplicaTables::position() {
  return guarded(repository_.internals(), [](Database& database) {
    Query query = database.query("SELECT created, sequence FROM fx_quarry_replica WHERE id=1");
    if (!query.step()) return ReplicaPosition();
    return ReplicaPosition{query.integer(0), static_cast<std::uint64_t>(query.integer(1))};
  });
}

Result<std::string> ReplicaTables::host() {
  return guarded(repository_.internals(), [](Database& database) {
    return database.first_text("SELECT host FROM fx_quarry_replica WHERE id=1");
  });
}

Result<void> ReplicaTables::adopt(std::string_view host) {
  return guarded(repository_.internals(), [&](Database& database) {
    database.execute("UPDATE fx_quarry_replica SET host=?1 WHERE id=1", host);
    // What the other host might not have published is published again.
    database.execute(
        "INSERT OR IGNORE INTO fx_quarry_replica_late"
        " SELECT rid FROM blob AS b INDEXED BY fx_quarry_received WHERE size>=0"
        " AND rcvid>(SELECT receipt FROM fx_quarry_replica WHERE id=1)"
        " AND NOT EXISTS(SELECT 1 FROM fx_quarry_replica_received AS r WHERE r.rcvid=b.rcvid)");
    database.execute("INSERT OR IGNORE INTO fx_quarry_replica_received SELECT rcvid FROM rcvfrom");
    database.execute("DELETE FROM fx_quarry_replica_out");
    if (database.has_table("pending_alert")) {
      database.execute("UPDATE pending_alert SET sentSep=true");
      database.execute("DELETE FROM pending_alert WHERE sentDigest");
    }
    if (database.has_table("fx_quarry_mail")) database.execute("DELETE FROM fx_quarry_mail");
    database.execute("DROP TABLE IF EXISTS fx_quarry_users");
  });
}

Result<void> ReplicaTables::set_position(const ReplicaPosition& position) {
  return guarded(repository_.internals(), [&](Database& database) {
    database.execute("UPDATE fx_quarry_replica SET created=?1, sequence=?2 WHERE id=1",
                     position.created, static_cast<std::int64_t>(position.sequence));
  });
}

Result<std::vector<ChangedRow>> ReplicaTables::changed_rows() {
  return guarded(repository_.internals(),
                 [](RepositoryState& state) { return Comparison(state).run(); });
}

Result<void> ReplicaTables::record(const std::vector<ChangedRow>& rows) {
  return guarded(repository_.internals(), [&](Database& database) {
    for (const ChangedRow& row : rows) {
      if (row.table == kPrivate) {
        database.execute(
            "DELETE FROM fx_quarry_replica_private"
            " WHERE rid=(SELECT rid FROM blob WHERE uuid=?1)",
            row.key);
      } else if (row.digest.empty()) {
        database.execute("DELETE FROM fx_quarry_replica_row WHERE name=?1 AND key=?2", row.table,
                         row.key);
      } else {
        database.execute("REPLACE INTO fx_quarry_replica_row VALUES(?1,?2,?3)", row.table, row.key,
                         row.digest);
      }
    }
  });
}

Result<std::vector<ChangedRow>> ReplicaTables::rows() {
  return guarded(repository_.internals(), [](RepositoryState& state) {
    std::vector<ChangedRow> rows;
    visit_rows(
        state, [](const std::string&) { return true; },
        [&](ChangedRow&& row) {
          row.content = {};
          rows.push_back(std::move(row));
        });
    return rows;
  });
}

Result<void> ReplicaTables::forget(std::string_view table, std::string_view key) {
  return guarded(repository_.internals(), [&](Database& database) {
    database.execute("DELETE FROM fx_quarry_replica_row WHERE name=?1 AND key=?2", table, key);
  });
}

Result<std::vector<QueuedChange>> ReplicaTables::queued(std::int64_t after, std::size_t limit) {
  return guarded(repository_.internals(), [&](Database& database) {
    std::vector<QueuedChange> changes;
    Query query = database.query(
        "SELECT number, content FROM fx_quarry_replica_out WHERE number>?1 ORDER BY number LIMIT "
        "?2",
        after, limit);
    while (query.step()) changes.push_back({query.integer(0), std::string(query.blob(1))});
    return changes;
  });
}

Result<void> ReplicaTables::queue(std::string_view content) {
  return guarded(repository_.internals(), [&](RepositoryState& state) {
    state.database.execute(
        "INSERT INTO fx_quarry_replica_out(number,content) VALUES(max(?1,"
        "1+ifnull((SELECT seq FROM sqlite_sequence WHERE name='fx_quarry_replica_out'),0),"
        "1+ifnull((SELECT max(number) FROM fx_quarry_replica_number),0)),?2)",
        state.options.clock->now().value, Blob{content});
    if (queued_.size() == kMaxQueued) queued_.erase(queued_.begin());
    queued_.insert(state.database.last_insert_rowid());
  });
}

Result<void> ReplicaTables::queue_digested(const std::vector<Rid>& artifacts) {
  std::string cards;
  const auto named = guarded(repository_.internals(), [&](Database& database) {
    for (const Rid rid : artifacts) {
      cards += fmt::format("digested {}\n",
                           database.first_text("SELECT uuid FROM blob WHERE rid=?1", rid));
    }
  });
  QUARRY_TRY(named);
  return queue(cards);
}

Result<void> ReplicaTables::mark_digested(std::string_view name) {
  return guarded(repository_.internals(), [&](RepositoryState& state) {
    if (!state.database.has_table("pending_alert")) return;
    if (state.derivation.has_pending()) state.derivation.run();
    const Rid rid = state.database.first_integer("SELECT rid FROM blob WHERE uuid=?1", name);
    for (const char type : kEventTypes) {
      const std::string id = fmt::format("{}{}", type, rid);
      state.database.execute("UPDATE pending_alert SET sentDigest=true WHERE eventid=?1", id);
      state.database.execute(
          "DELETE FROM pending_alert WHERE eventid=?1 AND sentDigest AND sentSep", id);
    }
  });
}

Result<void> ReplicaTables::remove_queued(std::int64_t number) {
  return guarded(repository_.internals(), [&](Database& database) {
    database.execute("DELETE FROM fx_quarry_replica_out WHERE number<=?1", number);
  });
}

Result<std::int64_t> ReplicaTables::number(std::string_view host) {
  return guarded(repository_.internals(), [&](Database& database) {
    return database.first_integer("SELECT number FROM fx_quarry_replica_number WHERE host=?1",
                                  host);
  });
}

Result<void> ReplicaTables::set_number(std::string_view host, std::int64_t number) {
  return guarded(repository_.internals(), [&](Database& database) {
    database.execute("REPLACE INTO fx_quarry_replica_number VALUES(?1,?2)", host, number);
  });
}

Result<std::vector<UnpublishedReceipt>> ReplicaTables::unpublished(
    const UnrecordedParts& unrecorded, std::size_t limit) {
  return guarded(repository_.internals(), [&](RepositoryState& state) {
    std::vector<UnpublishedReceipt> found;
    add_late(state, found);
    Query query = state.database.query(
        "SELECT rcvid, max(rid) FROM blob AS b INDEXED BY fx_quarry_received WHERE rcvid>?1"
        " AND NOT EXISTS(SELECT 1 FROM fx_quarry_replica_received AS r WHERE r.rcvid=b.rcvid)"
        " GROUP BY rcvid ORDER BY rcvid",
        start_of(state.database));
    while (found.size() < limit && query.step()) {
      const std::int64_t receipt = query.integer(0);
      const auto sent = sent_of(state.database, receipt, unrecorded);
      const bool is_same =
          artifacts_up_to(state.database, receipt, sent.artifact) == sent.artifacts;
      const Rid after = is_same ? sent.artifact : 0;
      if (query.integer(1) > after) found.push_back({.receipt = receipt, .after = after});
    }
    for (UnpublishedReceipt& receipt : found) read_sender(state.database, receipt);
    return found;
  });
}

Result<Rid> ReplicaTables::visit_unpublished(
    const UnpublishedReceipt& receipt, std::vector<Rid>& deferred,
    const std::function<bool(const UnpublishedArtifact&)>& visit) {
  return guarded(repository_.internals(), [&](RepositoryState& state) {
    UnpublishedArtifacts artifacts(state, receipt);
    Rid last = receipt.after;
    while (artifacts.step()) {
      if (artifacts.must_wait()) {
        deferred.push_back(artifacts.rid());
      } else if (const auto artifact = artifacts.artifact(); artifact && !visit(*artifact)) {
        break;
      }
      last = artifacts.rid();
    }
    return last;
  });
}

Result<bool> ReplicaTables::is_published(Rid rid) {
  return guarded(repository_.internals(), [&](Database& database) {
    return database.has_row(
        "SELECT 1 FROM blob AS b WHERE rid=?1"
        " AND NOT EXISTS(SELECT 1 FROM fx_quarry_replica_late WHERE rid=?1)"
        " AND (rcvid<(SELECT receipt FROM fx_quarry_replica WHERE id=1)"
        " OR EXISTS(SELECT 1 FROM fx_quarry_replica_received AS r WHERE r.rcvid=b.rcvid)"
        " OR EXISTS(SELECT 1 FROM fx_quarry_replica_sent AS s WHERE s.rcvid=b.rcvid AND s.rid>=?1)"
        " OR rcvid<=(SELECT first FROM fx_quarry_replica WHERE id=1))",
        rid);
  });
}

Result<std::int64_t> ReplicaTables::count(std::int64_t receipt, Rid last) {
  return guarded(repository_.internals(),
                 [&](Database& database) { return artifacts_up_to(database, receipt, last); });
}

Result<void> ReplicaTables::record(const PublishedArtifacts& artifacts) {
  return guarded(repository_.internals(), [&](Database& database) {
    for (const Rid rid : artifacts.finished) {
      database.execute("DELETE FROM fx_quarry_replica_late WHERE rid=?1", rid);
    }
    for (const Rid rid : artifacts.deferred) {
      database.execute("INSERT OR IGNORE INTO fx_quarry_replica_late(rid) VALUES(?1)", rid);
    }
    for (const Rid rid : artifacts.as_private) {
      database.execute("INSERT OR IGNORE INTO fx_quarry_replica_private(rid) VALUES(?1)", rid);
    }
    for (const auto& part : artifacts.parts) {
      database.execute("REPLACE INTO fx_quarry_replica_sent(rcvid,rid,artifacts) VALUES(?1,?2,?3)",
                       part.receipt, part.artifact, part.artifacts);
      database.execute("UPDATE fx_quarry_replica SET receipt=max(receipt,?1) WHERE id=1",
                       part.receipt);
    }
    trim(database);
  });
}

Result<void> ReplicaTables::add_received(std::int64_t receipt) {
  return guarded(repository_.internals(), [&](Database& database) {
    database.execute("INSERT OR IGNORE INTO fx_quarry_replica_received(rcvid) VALUES(?1)", receipt);
  });
}

Result<void> ReplicaTables::add_private(const HashName& name) {
  return guarded(repository_.internals(), [&](Database& database) {
    database.execute(
        "INSERT OR IGNORE INTO fx_quarry_replica_private(rid)"
        " SELECT rid FROM private WHERE rid=(SELECT rid FROM blob WHERE uuid=?1)",
        name.str());
  });
}

Result<void> ReplicaTables::publish_again(std::string_view name) {
  return guarded(repository_.internals(), [&](Database& database) {
    database.execute(
        "INSERT OR IGNORE INTO fx_quarry_replica_late(rid)"
        " SELECT rid FROM blob WHERE uuid=?1 AND size>=0",
        name);
  });
}

Result<void> ReplicaTables::skip_received() {
  return guarded(repository_.internals(), [&](Database& database) {
    const std::int64_t last =
        database.first_integer("SELECT receipt FROM fx_quarry_replica WHERE id=1");
    // The first receipt that is not published, or 0.
    const std::int64_t next = database.first_integer(
        "SELECT rcvid FROM blob AS b INDEXED BY fx_quarry_received WHERE rcvid>?1"
        " AND NOT EXISTS(SELECT 1 FROM fx_quarry_replica_received AS r WHERE r.rcvid=b.rcvid)"
        " ORDER BY rcvid LIMIT 1",
        last);
    const std::int64_t skipped =
        next != 0 ? next - 1
                  : database.first_integer("SELECT max(rcvid) FROM fx_quarry_replica_received");
    database.execute("UPDATE fx_quarry_replica SET receipt=max(receipt,?1) WHERE id=1", skipped);
    trim(database);
  });
}

Result<std::vector<std::string>> ReplicaTables::waiting_for(std::string_view name) {
  return guarded(repository_.internals(), [&](Database& database) {
    std::vector<std::string> names;
    Query query = database.query(
        "SELECT (SELECT uuid FROM blob WHERE rid=d.rid) FROM delta AS d INDEXED BY delta_i1"
        " WHERE srcid=(SELECT rid FROM blob WHERE uuid=?1 AND size<0)",
        name);
    while (query.step()) names.emplace_back(query.text(0));
    return names;
  });
}

Result<void> ReplicaTables::visit_names(std::string_view prefix, std::string_view after,
                                        const std::function<bool(std::string_view, bool)>& visit) {
  return guarded(repository_.internals(), [&](RepositoryState& state) {
    Query query = state.database.query(
        "SELECT uuid, rid, EXISTS(SELECT 1 FROM private WHERE rid=b.rid) FROM blob AS b"
        // `g` follows all hex digits.
        " WHERE uuid>=?1 AND uuid<?1||'g' AND uuid>?2 AND size>=0"
        " AND uuid NOT IN (SELECT uuid FROM shun) ORDER BY uuid",
        prefix, after);
    while (query.step()) {
      const bool waits = state.waiting_ones().contains(query.integer(1));
      if (!waits && !visit(query.text(0), query.integer(2) != 0)) return;
    }
  });
}

}  // namespace quarry::repository
