#include "older_schema.h"

#include <fmt/core.h>
#include <fmt/ranges.h>

#include <functional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "newer_schema.h"
#include "store/schema.h"

namespace quarry::repository {
namespace {

struct Column {
  const char* table;
  const char* name;
  const char* type;
};

constexpr Column kColumns[] = {
    {"mlink", "pmid", "INTEGER"},    {"mlink", "isaux", "BOOLEAN DEFAULT 0"},
    {"plink", "baseid", "INTEGER"},  {"event", "brief", "TEXT"},
    {"event", "omtime", "DATETIME"}, {"config", "mtime", "DATE"},
    {"shun", "mtime", "DATE"},       {"shun", "scom", "TEXT"},
    {"reportfmt", "mtime", "DATE"},  {"user", "mtime", "DATE"},
};

constexpr std::string_view kDeltaIndex = "delta_i1";

/// The names behind WORDS ("CREATE TABLE ") in SQL.
std::vector<std::string> names_behind(std::string_view sql, std::string_view words) {
  std::vector<std::string> names;
  for (std::size_t at = sql.find(words); at != std::string_view::npos; at = sql.find(words, at)) {
    at += words.size();
    names.emplace_back(sql.substr(at, sql.find_first_of("( ", at) - at));
  }
  return names;
}

/// SQL, passing over what is there already.
std::string where_missing(std::string sql) {
  for (const std::string_view words : {"CREATE TABLE ", "CREATE INDEX "}) {
    for (std::size_t at = sql.find(words); at != std::string::npos; at = sql.find(words, at)) {
      at += words.size();
      sql.insert(at, "IF NOT EXISTS ");
    }
  }
  return sql;
}

using Names = std::set<std::string, std::less<>>;

/// Those of DATABASE's tables and indexes.
Names read_names(Database& database) {
  Names names;
  Query query = database.query("SELECT name FROM sqlite_schema");
  while (query.step()) names.emplace(query.text(0));
  return names;
}

/// In a table that is not there, no column is lacking.
bool lacks(Database& database, const Names& names, const Column& column) {
  return names.contains(column.table) && !database.has_column(column.table, column.name);
}

std::vector<std::string> missing(Database& database) {
  static const std::vector<std::string> tables = names_behind(kDerivedSchema, "CREATE TABLE ");
  static const std::vector<std::string> indexes = names_behind(kDerivedSchema, "CREATE INDEX ");
  const Names names = read_names(database);
  std::vector<std::string> found;
  for (const std::string& table : tables) {
    if (!names.contains(table)) found.push_back("table " + table);
  }
  for (const Column& column : kColumns) {
    if (lacks(database, names, column)) {
      found.push_back(fmt::format("column {}.{}", column.table, column.name));
    }
  }
  for (const std::string& index : indexes) {
    if (!names.contains(index)) found.push_back("index " + index);
  }
  if (!names.contains(kDeltaIndex)) found.push_back(fmt::format("index {}", kDeltaIndex));
  return found;
}

void add_missing(Database& database) {
  Transaction transaction(database, Transaction::Kind::kWrite);
  const Names names = read_names(database);
  // Columns first, which indexes name.
  for (const Column& column : kColumns) {
    if (!lacks(database, names, column)) continue;
    database.execute(
        fmt::format("ALTER TABLE {} ADD COLUMN {} {}", column.table, column.name, column.type));
  }
  database.execute(where_missing(kDerivedSchema));
  database.execute("CREATE INDEX IF NOT EXISTS delta_i1 ON delta(srcid)");
  transaction.commit();
}

}  // namespace

std::string complete_schema(Database& database) {
  // What a later schema has no need of is not lacking.
  if (!check_aux_schema(database)) return {};
  const std::vector<std::string> found = missing(database);
  if (found.empty()) return {};
  const std::string told = fmt::format("{}", fmt::join(found, ", "));
  try {
    add_missing(database);
  } catch (const SqliteError& error) {
    if (!error.is_read_only()) throw;
    // For who only reads nothing else is needed.
    if (read_names(database).contains(kDeltaIndex)) return {};
    throw SqliteError(error.code(), fmt::format("an old repository that lacks {}, and cannot be "
                                                "written (`fossil rebuild` brings it up to date)",
                                                told));
  }
  return told;
}

}  // namespace quarry::repository
