#include <doctest/doctest.h>
#include <fmt/core.h>

#include <fstream>
#include <iterator>
#include <string>

#include "quarry/repository/repository.h"
#include "quarry/repository/whole_file.h"
#include "store/database.h"
#include "temporary_folder.h"

using namespace quarry::repository;

namespace {

std::string bytes_of(const std::filesystem::path& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

void run(const std::filesystem::path& path, const std::string& sql) {
  Database database(path, Database::Mode::kReadWrite, std::chrono::milliseconds(1000));
  database.execute(sql);
}

}  // namespace

TEST_CASE("a repository of a later Fossil is refused with a reason, and unchanged") {
  const TemporaryFolder folder;
  const std::filesystem::path path = folder / "later.fossil";
  REQUIRE(init(path, {.project_name = "x", .user = "s", .password = "pw"}).has_value());
  // Opening the file must not create the missing table again.
  run(path,
      "UPDATE config SET value='2027-05-01' WHERE name='aux-schema'; DROP TABLE backlink;"
      "PRAGMA wal_checkpoint(TRUNCATE)");
  const std::string before = bytes_of(path);
  const std::string why = fmt::format(
      "{}: upgraded by a newer Fossil: its aux-schema is \"2027-05-01\", and the latest supported "
      "one "
      "is \"2015-01-24\"",
      path.string());
  {
    const auto opened = Repository::open(path);
    REQUIRE(opened.has_value());
    const auto known = (*opened)->check_schema();
    REQUIRE_FALSE(known.has_value());
    CHECK(known.error().message == why);
  }
  const auto found = verify(path);
  REQUIRE_FALSE(found.has_value());
  CHECK(found.error().message == why);
  const auto rebuilt = rebuild(path);
  REQUIRE_FALSE(rebuilt.has_value());
  CHECK(rebuilt.error().message == why);
  CHECK(bytes_of(path) == before);
}

TEST_CASE("old repositories are accepted with any schema name, or none") {
  const TemporaryFolder folder;
  const std::filesystem::path path = folder / "old.fossil";
  REQUIRE(init(path, {.project_name = "x", .user = "s", .password = "pw"}).has_value());
  for (const char* sql : {"UPDATE config SET value='2011-04-25 19:50' WHERE name='aux-schema'",
                          "DELETE FROM config WHERE name='aux-schema'"}) {
    CAPTURE(sql);
    run(path, sql);
    const auto opened = Repository::open(path);
    REQUIRE(opened.has_value());
    CHECK((*opened)->check_schema().has_value());
  }
}

TEST_CASE("a rebuild runs one statement of the search index in a crafted schema") {
  const TemporaryFolder folder;
  const std::filesystem::path path = folder / "crafted.fossil", other = folder / "other.fossil";
  for (const auto& each : {path, other}) {
    REQUIRE(init(each, {.project_name = "x", .user = "s", .password = "pw"}).has_value());
  }
  run(path, fmt::format("CREATE TABLE ftsdocs(rowid INTEGER PRIMARY KEY, type CHAR(1), rid INTEGER,"
                        " name TEXT, idxed BOOLEAN, label TEXT, url TEXT, mtime DATE, bx TEXT,"
                        " UNIQUE(type,rid));"
                        "CREATE VIRTUAL TABLE ftsidx USING fts4(title);"
                        "PRAGMA writable_schema=ON;"
                        "UPDATE sqlite_schema SET sql=sql||'; ATTACH ''{}'' AS other;"
                        " CREATE TABLE other.made(x)' WHERE name='ftsidx'",
                        other.string()));
  REQUIRE(rebuild(path).has_value());
  const auto has_table = [](const std::filesystem::path& file, const char* table) {
    Database database(file, Database::Mode::kReadOnly, std::chrono::milliseconds(1000));
    return database.has_table(table);
  };
  CHECK_FALSE(has_table(other, "made"));
  CHECK(has_table(path, "ftsidx"));
}
