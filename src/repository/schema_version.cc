#include "schema_version.h"

#include <fmt/core.h>
#include <fmt/ranges.h>

#include <functional>
#include <map>
#include <string_view>
#include <vector>

#include "quarry/base/log.h"
#include "repository_state.h"
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

/// Returns the names that follow WORDS ("CREATE TABLE ") in SQL.
std::vector<std::string> names_after(std::string_view sql, std::string_view words) {
  std::vector<std::string> names;
  for (std::size_t at = sql.find(words); at != std::string_view::npos; at = sql.find(words, at)) {
    at += words.size();
    names.emplace_back(sql.substr(at, sql.find_first_of("( ", at) - at));
  }
  return names;
}

/// Returns SQL with IF NOT EXISTS added to each statement.
std::string where_missing(std::string sql) {
  for (const std::string_view words : {"CREATE TABLE ", "CREATE INDEX "}) {
    for (std::size_t at = sql.find(words); at != std::string::npos; at = sql.find(words, at)) {
      at += words.size();
      sql.insert(at, "IF NOT EXISTS ");
    }
  }
  return sql;
}

/// The kind of each object of a database, by name: "table", "index", "view" or "trigger".
using Schema = std::map<std::string, std::string, std::less<>>;

Schema read_schema(Database& database) {
  Schema schema;
  Query query = database.query("SELECT name, type FROM sqlite_schema");
  while (query.step()) schema.emplace(query.text(0), query.text(1));
  return schema;
}

/// Returns whether COLUMN is missing from its table. Returns false if the database does not have
/// this table.
bool lacks(Database& database, const Schema& schema, const Column& column) {
  const auto found = schema.find(std::string_view(column.table));
  return found != schema.end() && found->second == "table" &&
         !database.has_column(column.table, column.name);
}

std::vector<std::string> missing(Database& database) {
  static const std::vector<std::string> tables = names_after(kDerivedSchema, "CREATE TABLE ");
  static const std::vector<std::string> indexes = names_after(kDerivedSchema, "CREATE INDEX ");
  const Schema schema = read_schema(database);
  std::vector<std::string> found;
  for (const std::string& table : tables) {
    if (!schema.contains(table)) found.push_back("table " + table);
  }
  for (const Column& column : kColumns) {
    if (lacks(database, schema, column)) {
      found.push_back(fmt::format("column {}.{}", column.table, column.name));
    }
  }
  for (const std::string& index : indexes) {
    if (!schema.contains(index)) found.push_back("index " + index);
  }
  if (!schema.contains(kDeltaIndex)) found.push_back(fmt::format("index {}", kDeltaIndex));
  return found;
}

void add_missing(Database& database) {
  Transaction transaction(database);
  const Schema schema = read_schema(database);
  // Add columns first, because indexes use them.
  for (const Column& column : kColumns) {
    if (!lacks(database, schema, column)) continue;
    database.execute(
        fmt::format("ALTER TABLE {} ADD COLUMN {} {}", column.table, column.name, column.type));
  }
  database.execute(where_missing(kDerivedSchema));
  database.execute("CREATE INDEX IF NOT EXISTS delta_i1 ON delta(srcid)");
  transaction.commit();
}

}  // namespace

Result<void> check_aux_schema(const std::filesystem::path& path,
                              const std::optional<std::string>& aux_schema) {
  if (!aux_schema || *aux_schema <= kAuxSchema) return {};
  return fail(ErrorCode::kInvalid,
              "{}: upgraded by a newer Fossil: its aux-schema is \"{}\", and the "
              "latest supported one is \"{}\"",
              path.string(), base::printable(*aux_schema, 40), kAuxSchema);
}

Result<void> check_aux_schema(const std::filesystem::path& path, Database& database) {
  if (!database.has_table("config")) return {};
  return check_aux_schema(path,
                          database.first_text("SELECT value FROM config WHERE name='aux-schema'"));
}

Result<void> Repository::check_schema() {
  return check_aux_schema(path(), settings().get("aux-schema"));
}

std::string complete_schema(Database& database) {
  // Do not complete a schema that is newer than ours, because it might not need these objects.
  if (!check_aux_schema({}, database)) return {};
  const std::vector<std::string> found = missing(database);
  if (found.empty()) return {};
  const std::string added = fmt::format("{}", fmt::join(found, ", "));
  try {
    add_missing(database);
  } catch (const SqliteError& error) {
    if (!error.is_read_only()) throw;
    // Of the objects that can be missing, only this index is needed for reading.
    if (read_schema(database).contains(kDeltaIndex)) return {};
    throw SqliteError(error.code(),
                      fmt::format("run `fossil rebuild`: the file is read-only, and its old schema "
                                  "lacks {}",
                                  added));
  }
  return added;
}

}  // namespace quarry::repository
