#include "store/database.h"

#include <doctest/doctest.h>

#include <string>
#include <vector>

#include "temporary_folder.h"

using quarry::base::ErrorCode;
using quarry::repository::Database;
using quarry::repository::SqliteError;
using quarry::repository::Transaction;

namespace {

constexpr std::string_view kLong =
    "WITH RECURSIVE counter(x) AS (SELECT 1 UNION ALL SELECT x+1 FROM counter LIMIT 300000)"
    " SELECT count(*) FROM counter";

}  // namespace

TEST_CASE("a long statement is reported while it runs, and a short one is not") {
  Database database(":memory:", Database::Mode::kCreate, std::chrono::milliseconds(0));
  std::vector<std::string> reported;
  database.watch_long_statements([&](std::string_view sql) { reported.emplace_back(sql); });
  CHECK(database.query("SELECT 1").step());
  CHECK(reported.empty());
  auto query = database.query(kLong);
  CHECK(query.step());
  CHECK(query.integer(0) == 300000);
  CHECK(reported.size() > 1);
  for (const std::string& sql : reported) CHECK(sql == kLong);
}

TEST_CASE("work after a finished statement is not reported under its text") {
  Database database(":memory:", Database::Mode::kCreate, std::chrono::milliseconds(0));
  std::vector<std::string> reported;
  database.watch_long_statements([&](std::string_view sql) { reported.emplace_back(sql); });
  CHECK(database.query("SELECT 1").step());
  database.execute(std::string(kLong));
  CHECK(reported.empty());
}

TEST_CASE("a long statement, many short ones, and work between them are interrupted") {
  Database database(":memory:", Database::Mode::kCreate, std::chrono::milliseconds(0));
  database.execute("CREATE TABLE t(a)");
  database.interrupt_when([] { return true; });
  CHECK(database.query("SELECT 1").step());
  CHECK_THROWS_AS(database.query(kLong).step(), SqliteError);
  const auto run_many = [&] {
    for (int i = 0; i < 1000; ++i) database.query("SELECT count(*) FROM t").run();
  };
  CHECK_THROWS_AS(run_many(), SqliteError);
  CHECK_THROWS_AS(database.count_work(std::size_t{1} << 30), SqliteError);
  database.interrupt_when({});
  CHECK_NOTHROW(run_many());
  CHECK_NOTHROW(database.count_work(std::size_t{1} << 30));
}

TEST_CASE("the end of a transaction is not interrupted") {
  Database database(":memory:", Database::Mode::kCreate, std::chrono::milliseconds(0));
  database.execute("CREATE TABLE t(a)");
  const auto rows = [&] {
    auto query = database.query("SELECT count(*) FROM t");
    return query.step() ? query.integer(0) : -1;
  };
  // SQLite checks for an interruption only every few hundred steps. The loop runs 600 times, so
  // that every step of a commit coincides with such a check.
  for (int i = 0; i < 600; ++i) {
    database.interrupt_when({});
    Transaction transaction(database);
    database.query("DELETE FROM t").run();
    database.query("INSERT INTO t VALUES(1)").run();
    database.interrupt_when([] { return true; });
    CHECK_NOTHROW(transaction.commit());
    database.interrupt_when({});
    CHECK(rows() == 1);
    {
      Transaction undone(database);
      database.query("DELETE FROM t").run();
      database.interrupt_when([] { return true; });
    }
    database.interrupt_when({});
    CHECK_FALSE(database.in_transaction());
    CHECK(rows() == 1);
  }
}

TEST_CASE("the error for a file that cannot be opened has the system's reason") {
  const TemporaryFolder folder;
  const auto open = [&] {
    const Database database(folder / "absent", Database::Mode::kReadWrite,
                            std::chrono::milliseconds(0));
  };
  CHECK_THROWS_WITH_AS(open(), "unable to open database file (No such file or directory)",
                       SqliteError);
}

TEST_CASE("an error that a client sees does not contain the file's path") {
  const auto error = [](int code) { return SqliteError(code, "what").to_error("/secret/x"); };
  CHECK(error(SQLITE_TOOBIG).code == ErrorCode::kLimit);
  CHECK(error(SQLITE_TOOBIG).message == "what");
  CHECK(error(SQLITE_READONLY).code == ErrorCode::kReadOnly);
  CHECK(error(SQLITE_READONLY).message ==
        "/secret/x: no permission to write the file or its folder (what)");
}
