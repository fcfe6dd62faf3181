// Sends and receives settings and users. See quarry/repository/configuration.h.

#include "exported_config.h"

#include <fmt/core.h>

#include <algorithm>
#include <vector>

#include "receipt/receipt_state.h"

namespace quarry::repository {
namespace {

/// The rows of a table that are sent.
struct Source {
  ConfigAreas area;
  std::string_view table;
  const char* rows;
  bool leaves_out_null = false;  // whether columns that are NULL are left out
};

// The sources, in the order in which Fossil sends them.
constexpr std::array kSources = {
    Source{kConfigShun, "shun", "shun WHERE"},
    Source{kConfigUser, "user", "user WHERE", true},
    Source{kConfigTicket, "reportfmt", "reportfmt WHERE", true},
    Source{kConfigEmail, "concealed", "concealed WHERE"},
    Source{kConfigAlias, "config",
           "config INDEXED BY sqlite_autoindex_config_1 WHERE name GLOB 'walias:/*' AND"},
    Source{kConfigInterwiki, "config",
           "config INDEXED BY sqlite_autoindex_config_1 WHERE name GLOB 'interwiki:*' AND"},
    Source{kConfigSubscriber, "subscriber", "subscriber WHERE sverified AND"},
};

// The tables for email. Fossil creates these tables when email is first used. We create them when
// the first subscriber is received.
constexpr const char* kMailSchema =
    "CREATE TABLE subscriber("
    "subscriberId INTEGER PRIMARY KEY,subscriberCode BLOB DEFAULT (randomblob(32)) UNIQUE,"
    "semail TEXT UNIQUE COLLATE nocase,suname TEXT,sverified BOOLEAN DEFAULT true,"
    "sdonotcall BOOLEAN,sdigest BOOLEAN,ssub TEXT,sctime INTDATE,mtime INTDATE,smip TEXT,"
    "lastContact INT);"
    "CREATE INDEX subscriberUname ON subscriber(suname) WHERE suname IS NOT NULL;"
    "CREATE TABLE IF NOT EXISTS pending_alert("
    "eventid TEXT PRIMARY KEY,sentSep BOOLEAN DEFAULT false,sentDigest BOOLEAN DEFAULT false,"
    "sentMod BOOLEAN DEFAULT false) WITHOUT ROWID";

void bind(Query& query, int index, const SqlLiteral& value) {
  switch (value.kind) {
    case SqlLiteral::Kind::kNull:
      return query.set(index, nullptr);
    case SqlLiteral::Kind::kInteger:
      return query.set(index, value.integer);
    case SqlLiteral::Kind::kText:
      return query.set(index, value.bytes);
    case SqlLiteral::Kind::kBlob:
      return query.set(index, Blob{value.bytes});
  }
}

bool table_has(Database& database, std::string_view table, std::string_view column) {
  return database.has_row("SELECT 1 FROM pragma_table_info(?1) WHERE name=?2", table, column);
}

/// Returns whether TABLE has the column `jx`, which is missing for users and reports in old
/// repositories.
bool has_jx(Database& database, std::string_view table) {
  return table_has(database, table, "jx");
}

void complete_schema(Database& database, std::string_view table) {
  if (table == "subscriber" && !database.has_table(table)) database.execute(kMailSchema);
  if (table == "subscriber" && !table_has(database, table, "lastContact")) {
    database.execute("ALTER TABLE subscriber ADD COLUMN lastContact INT");
  }
  if ((table == "user" || table == "reportfmt") && !has_jx(database, table)) {
    database.execute(fmt::format("ALTER TABLE {} ADD COLUMN jx TEXT DEFAULT '{{}}'", table));
  }
}

const ConfigTable* table_named(std::string_view name) {
  const auto found = std::ranges::find(kConfigTables, name, &ConfigTable::name);
  return found == kConfigTables.end() ? nullptr : found;
}

enum class Rows { kExchanged, kAll };

void visit_rows(Database& database, const Source& source, Rows rows, const ConfigVisitor& visit) {
  const ConfigTable& table = *table_named(source.table);
  std::vector<std::string_view> columns;
  std::string values = fmt::format("quote({})", table.key);
  const auto add = [&](std::string_view column) {
    columns.push_back(column);
    values += fmt::format(", quote({})", column);
  };
  for (const std::string_view column : table.columns) {
    if (!column.empty() && (column != "jx" || has_jx(database, table.name))) add(column);
  }
  for (const std::string_view column : table.group_columns) {
    if (rows == Rows::kAll && table_has(database, table.name, column)) add(column);
  }
  const std::string card = fmt::format("/{}", table.name);
  // Like fossil, send the time to clients exactly as it is stored, for example with a fraction.
  Query row = database.query_once(
      rows == Rows::kAll
          ? fmt::format("SELECT quote(CAST(mtime AS INT)), {} FROM {} true", values, source.rows)
          : fmt::format("SELECT mtime, {} FROM {} mtime>=0", values, source.rows));
  while (row.step()) {
    std::string content = fmt::format("{} {}", row.text(0), row.text(1));
    for (std::size_t i = 0; i < columns.size(); ++i) {
      const std::string_view value = row.text(static_cast<int>(i) + 2);
      if (source.leaves_out_null && rows == Rows::kExchanged && value == "NULL") continue;
      content += fmt::format(" {} {}", columns[i], value);
    }
    visit(card, content);
  }
}

enum class Existing { kKeepNewer, kReplace };

/// Inserts or updates RECORD's row in TABLE. Returns false if the existing row is kept.
bool write(Database& database, const ConfigTable& table, const ConfigRecord& record,
           Existing existing) {
  const auto set = [&](std::string_view column) {
    return database.query(
        fmt::format("UPDATE {} SET {}=?2 WHERE {}=?1", table.name, column, table.key), record.key);
  };
  {
    Query find = database.query(
        fmt::format("SELECT mtime FROM {} WHERE {}=?1", table.name, table.key), record.key);
    const bool is_there = find.step();
    // Rows without a time are local, and are never overwritten.
    if (is_there && existing == Existing::kKeepNewer &&
        (find.is_null(0) || find.integer(0) >= record.mtime)) {
      return false;
    }
    if (is_there) {
      set("mtime").bind(record.key, record.mtime).run();
    } else {
      database.execute(
          fmt::format("INSERT OR IGNORE INTO {}({},mtime) VALUES(?1,?2)", table.name, table.key),
          record.key, record.mtime);
    }
  }
  for (const auto& [name, value] : record.columns) {
    const bool is_taken = is_in(name, table.columns) ||
                          (existing == Existing::kReplace && is_in(name, table.group_columns));
    if (name.empty() || !is_taken) continue;
    if (existing == Existing::kReplace && table.name == "user" && name == "pw") {
      // A new password ends the user's logins on web pages.
      database.execute("UPDATE user SET cookie=NULL WHERE login=?1 AND pw IS NOT ?2", record.key,
                       value.bytes);
    }
    Query update = set(name);
    bind(update, 2, value);
    update.run();
  }
  return true;
}

void visit_areas(Database& database, ConfigAreas areas, Rows rows, const ConfigVisitor& visit) {
  for (const Source& source : kSources) {
    if ((areas & source.area) != 0 && database.has_table(source.table)) {
      visit_rows(database, source, rows, visit);
    }
  }
  const auto visit_setting = [&](std::string_view name) {
    Query row = database.query(
        "SELECT iif(?2, quote(CAST(mtime AS INT)), mtime), quote(name), quote(value) FROM config"
        " WHERE name=?1 AND (?2 OR mtime>=0)",
        name, rows == Rows::kAll);
    if (!row.step()) return;
    visit("/config", fmt::format("{} {} value {}", row.text(0), row.text(1), row.text(2)));
  };
  for (const auto& [group_areas, names] : exported_settings()) {
    if ((areas & group_areas) != 0) std::ranges::for_each(names, visit_setting);
  }
  if (rows == Rows::kAll) std::ranges::for_each(group_settings(), visit_setting);
}

/// Updates everything that depends on the row KEY of TABLE.
void row_changed(RepositoryState& r, std::string_view table, std::string_view key) {
  if (table == "config") r.derivation.setting_changed(key);
  r.settings.clear();
  r.users.clear();
  r.has_shunned.reset();
  r.unclustered.reset();
}

/// Returns the table of the row KEY of the table NAME. Returns null if the row cannot be exchanged.
/// Only hosts replace rows.
const ConfigTable* table_of(std::string_view name, std::string_view key, Existing existing) {
  const bool is_for_group = existing == Existing::kReplace && is_in(key, group_settings());
  const bool is_local = name == "config" && areas_of_setting(key) == 0 && !is_for_group;
  return key.empty() || is_local ? nullptr : table_named(name);
}

}  // namespace

void Settings::visit_configuration(ConfigAreas areas, const ConfigVisitor& visit) {
  visit_areas(state_->database, areas, Rows::kExchanged, visit);
}

void Settings::visit_whole_configuration(const ConfigVisitor& visit) {
  visit_areas(state_->database, kConfigAll, Rows::kAll, visit);
}

Result<bool> Receipt::merge_config(const ConfigRecord& record) {
  return guarded(state_->r, [&](RepositoryState& r) {
    const ConfigTable* const table = table_of(record.table, record.key, Existing::kKeepNewer);
    if (table == nullptr || !record.mtime) return false;
    complete_schema(r.database, record.table);
    if (!write(r.database, *table, record, Existing::kKeepNewer)) return false;
    row_changed(r, record.table, record.key);
    return true;
  });
}

Result<void> Receipt::replace_config(const ConfigRecord& record) {
  return guarded(state_->r, [&](RepositoryState& r) {
    const ConfigTable* const table = table_of(record.table, record.key, Existing::kReplace);
    if (table == nullptr) return;
    complete_schema(r.database, record.table);
    write(r.database, *table, record, Existing::kReplace);
    row_changed(r, record.table, record.key);
  });
}

Result<void> Receipt::remove_config(std::string_view table_name, std::string_view key) {
  return guarded(state_->r, [&](RepositoryState& r) {
    const ConfigTable* const table = table_of(table_name, key, Existing::kReplace);
    if (table == nullptr || !r.database.has_table(table_name)) return;
    r.database.query(fmt::format("DELETE FROM {} WHERE {}=?1", table->name, table->key), key).run();
    row_changed(r, table_name, key);
  });
}

}  // namespace quarry::repository
