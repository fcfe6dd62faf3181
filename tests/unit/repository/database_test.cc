#include "database.h"

#include <doctest/doctest.h>

#include <string>
#include <vector>

using quarry::repository::Database;

namespace {

constexpr std::string_view kLong =
    "WITH RECURSIVE counter(x) AS (SELECT 1 UNION ALL SELECT x+1 FROM counter LIMIT 300000)"
    " SELECT count(*) FROM counter";

}  // namespace

TEST_CASE("a statement that runs for long is told while it runs, and a short one is not") {
  Database database(":memory:", Database::Mode::kCreate, std::chrono::milliseconds(0));
  std::vector<std::string> told;
  database.watch_long_statements([&](std::string_view sql) { told.emplace_back(sql); });
  CHECK(database.query("SELECT 1").step());
  CHECK(told.empty());
  auto query = database.query(kLong);
  CHECK(query.step());
  CHECK(query.integer(0) == 300000);
  CHECK(told.size() > 1);
  for (const std::string& sql : told) CHECK(sql == kLong);
}

TEST_CASE("what runs after a statement that is gone is not told under its name") {
  Database database(":memory:", Database::Mode::kCreate, std::chrono::milliseconds(0));
  std::vector<std::string> told;
  database.watch_long_statements([&](std::string_view sql) { told.emplace_back(sql); });
  CHECK(database.query("SELECT 1").step());
  database.execute(std::string(kLong));
  CHECK(told.empty());
}
