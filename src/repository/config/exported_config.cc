// Sends and receives settings and users. See quarry/repository/configuration.h.

#include "exported_config.h"

#include <algorithm>
#include <array>

#include "receipt/receipt_state.h"

namespace quarry::repository {
namespace {

// --- sending ----------------------------------------------------------------------------------

/// A table, or a part of one. The query returns the time, the quoted key and quoted values.
struct Source {
  ConfigAreas area;
  const char* table;
  std::string_view card;
  std::array<std::string_view, 6> columns;
  bool leaves_out_null;  // otherwise it is sent as NULL
  const char* query;
};

// In the order in which Fossil sends them.
constexpr std::array kSources = {
    Source{kConfigShun,
           "shun",
           "/shun",
           {"scom"},
           false,
           "SELECT mtime, quote(uuid), quote(scom) FROM shun WHERE mtime>=0"},
    Source{kConfigUser,
           "user",
           "/user",
           {"pw", "cap", "info", "photo", "jx"},
           true,
           "SELECT mtime, quote(login), quote(pw), quote(cap), quote(info), quote(photo), quote(jx)"
           " FROM user WHERE mtime>=0"},
    Source{kConfigTicket,
           "reportfmt",
           "/reportfmt",
           {"owner", "cols", "sqlcode", "jx"},
           true,
           "SELECT mtime, quote(title), quote(owner), quote(cols), quote(sqlcode), quote(jx)"
           " FROM reportfmt WHERE mtime>=0"},
    Source{kConfigEmail,
           "concealed",
           "/concealed",
           {"content"},
           false,
           "SELECT mtime, quote(hash), quote(content) FROM concealed WHERE mtime>=0"},
    Source{kConfigAlias,
           "config",
           "/config",
           {"value"},
           false,
           "SELECT mtime, quote(name), quote(value) FROM config INDEXED BY"
           " sqlite_autoindex_config_1 WHERE name GLOB 'walias:/*' AND mtime>=0"},
    Source{kConfigInterwiki,
           "config",
           "/config",
           {"value"},
           false,
           "SELECT mtime, quote(name), quote(value) FROM config INDEXED BY"
           " sqlite_autoindex_config_1 WHERE name GLOB 'interwiki:*' AND mtime>=0"},
    Source{kConfigSubscriber,
           "subscriber",
           "/subscriber",
           {"suname", "sdigest", "sdonotcall", "ssub", "sctime", "smip"},
           false,
           "SELECT mtime, quote(semail), quote(suname), quote(sdigest), quote(sdonotcall),"
           " quote(ssub), quote(sctime), quote(smip) FROM subscriber"
           " WHERE sverified AND mtime>=0"},
};

std::string content_of(const Query& row, const Source& source) {
  std::string content(row.text(0));
  content += ' ';
  content += row.text(1);
  int column = 2;
  for (const std::string_view name : source.columns) {
    if (name.empty()) break;
    const std::string_view value = row.text(column++);
    if (source.leaves_out_null && value == "NULL") continue;
    content.append(" ").append(name).append(" ").append(value);
  }
  return content;
}

// --- receiving --------------------------------------------------------------------------------

/// The destination of a record: how to find, insert and update its row.
struct Target {
  std::string_view table;
  const char* find;
  const char* insert;
  const char* set_mtime;
  struct Column {
    std::string_view name;
    const char* set;
  };
  std::array<Column, 6> columns;
};

constexpr std::array kTargets = {
    Target{"config",
           "SELECT mtime FROM config WHERE name=?1",
           "INSERT OR IGNORE INTO config(name,mtime) VALUES(?1,?2)",
           "UPDATE config SET mtime=?2 WHERE name=?1",
           {{{"value", "UPDATE config SET value=?2 WHERE name=?1"}}}},
    Target{"user",
           "SELECT mtime FROM user WHERE login=?1",
           "INSERT OR IGNORE INTO user(login,mtime) VALUES(?1,?2)",
           "UPDATE user SET mtime=?2 WHERE login=?1",
           {{{"pw", "UPDATE user SET pw=?2 WHERE login=?1"},
             {"cap", "UPDATE user SET cap=?2 WHERE login=?1"},
             {"info", "UPDATE user SET info=?2 WHERE login=?1"},
             {"photo", "UPDATE user SET photo=?2 WHERE login=?1"},
             {"jx", "UPDATE user SET jx=?2 WHERE login=?1"}}}},
    Target{"shun",
           "SELECT mtime FROM shun WHERE uuid=?1",
           "INSERT OR IGNORE INTO shun(uuid,mtime) VALUES(?1,?2)",
           "UPDATE shun SET mtime=?2 WHERE uuid=?1",
           {{{"scom", "UPDATE shun SET scom=?2 WHERE uuid=?1"}}}},
    Target{"reportfmt",
           "SELECT mtime FROM reportfmt WHERE title=?1",
           "INSERT OR IGNORE INTO reportfmt(title,mtime) VALUES(?1,?2)",
           "UPDATE reportfmt SET mtime=?2 WHERE title=?1",
           {{{"owner", "UPDATE reportfmt SET owner=?2 WHERE title=?1"},
             {"cols", "UPDATE reportfmt SET cols=?2 WHERE title=?1"},
             {"sqlcode", "UPDATE reportfmt SET sqlcode=?2 WHERE title=?1"},
             {"jx", "UPDATE reportfmt SET jx=?2 WHERE title=?1"}}}},
    Target{"concealed",
           "SELECT mtime FROM concealed WHERE hash=?1",
           "INSERT OR IGNORE INTO concealed(hash,mtime) VALUES(?1,?2)",
           "UPDATE concealed SET mtime=?2 WHERE hash=?1",
           {{{"content", "UPDATE concealed SET content=?2 WHERE hash=?1"}}}},
    Target{"subscriber",
           "SELECT mtime FROM subscriber WHERE semail=?1",
           "INSERT OR IGNORE INTO subscriber(semail,mtime) VALUES(?1,?2)",
           "UPDATE subscriber SET mtime=?2 WHERE semail=?1",
           {{{"suname", "UPDATE subscriber SET suname=?2 WHERE semail=?1"},
             {"sdigest", "UPDATE subscriber SET sdigest=?2 WHERE semail=?1"},
             {"sdonotcall", "UPDATE subscriber SET sdonotcall=?2 WHERE semail=?1"},
             {"ssub", "UPDATE subscriber SET ssub=?2 WHERE semail=?1"},
             {"sctime", "UPDATE subscriber SET sctime=?2 WHERE semail=?1"},
             {"smip", "UPDATE subscriber SET smip=?2 WHERE semail=?1"}}}},
};

// Created when mail is first used, or when a subscriber arrives before that.
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
      query.bind_null(index);
      break;
    case SqlLiteral::Kind::kInteger:
      query.bind(index, value.integer);
      break;
    case SqlLiteral::Kind::kText:
      query.bind(index, std::string_view(value.bytes));
      break;
    case SqlLiteral::Kind::kBlob:
      query.bind_blob(index, value.bytes);
      break;
  }
}

/// Old repositories lack the column `jx` of users and reports.
bool has_jx(Database& database, std::string_view table) {
  return database.query("SELECT 1 FROM pragma_table_info(?1) WHERE name='jx'")
      .bind(1, table)
      .step();
}

void complete_schema(Database& database, std::string_view table) {
  if (table == "subscriber" && !database.has_table(table)) database.execute(kMailSchema);
  if (table == "user" && !has_jx(database, table)) {
    database.execute("ALTER TABLE user ADD COLUMN jx TEXT DEFAULT '{}'");
  }
  if (table == "reportfmt" && !has_jx(database, table)) {
    database.execute("ALTER TABLE reportfmt ADD COLUMN jx TEXT DEFAULT '{}'");
  }
}

/// Inserts or updates RECORD's row. Returns false if the existing row is not older.
bool write(Database& database, const Target& target, const ConfigRecord& record) {
  {
    Query find = database.query(target.find);
    const bool is_there = find.bind(1, record.key).step();
    // Rows without a time are local, and never overwritten.
    if (is_there && (find.is_null(0) || find.integer(0) >= record.mtime)) return false;
    const char* const row = is_there ? target.set_mtime : target.insert;
    database.query(row).bind(1, record.key).bind(2, record.mtime).run();
  }
  for (const auto& [name, value] : record.columns) {
    const auto column = std::ranges::find(target.columns, name, &Target::Column::name);
    if (column == target.columns.end() || column->set == nullptr) continue;
    Query set = database.query(column->set);
    bind(set.bind(1, record.key), 2, value);
    set.run();
  }
  return true;
}

}  // namespace

void Settings::visit_configuration(ConfigAreas areas, const ConfigVisitor& visit) {
  Database& database = state_->database;
  for (const Source& source : kSources) {
    if ((areas & source.area) == 0 || !database.has_table(source.table)) continue;
    std::string sql = source.query;
    const bool wants_jx = sql.find("quote(jx)") != std::string::npos;
    if (wants_jx && !has_jx(database, source.table)) {
      sql.replace(sql.find("quote(jx)"), 9, "'NULL'");
    }
    Query query = database.query(sql);
    while (query.step()) visit(source.card, content_of(query, source));
  }
  for (const ExportedSetting& setting : exported_settings()) {
    if ((areas & setting.areas) == 0) continue;
    Query query = database.query(
        "SELECT mtime, quote(name), quote(value) FROM config WHERE name=?1 AND mtime>=0");
    if (!query.bind(1, setting.name).step()) continue;
    visit("/config", std::string(query.text(0)) + " " + std::string(query.text(1)) + " value " +
                         std::string(query.text(2)));
  }
}

base::Result<bool> Receipt::merge_config(const ConfigRecord& record) {
  Repository::State& r = state_->r;
  return guarded(r.path, [&]() -> base::Result<bool> {
    const auto target = std::ranges::find(kTargets, record.table, &Target::table);
    if (target == kTargets.end() || record.key.empty()) return false;
    if (record.table == "config" && areas_of_setting(record.key) == 0) return false;
    complete_schema(r.database, record.table);
    if (!write(r.database, *target, record)) return false;
    if (record.table == "config") r.derivation.setting_changed(record.key);
    r.settings.clear();
    r.users.clear();
    r.has_shunned.reset();
    r.unclustered.reset();
    return true;
  });
}

}  // namespace quarry::repository
