#include "cache/repository_state.h"

#include <doctest/doctest.h>
#include <stdlib.h>

#include <filesystem>
#include <optional>
#include <set>
#include <string>

#include "eventually.h"
#include "test_database.h"

using namespace quarry::pages;
namespace fs = std::filesystem;

namespace {

/// Waits until state_of() returns a state, and returns that state.
std::string state_when_quiet(const fs::path& file) {
  std::optional<std::string> state;
  REQUIRE(eventually([&] { return (state = state_of(file)).has_value(); }));
  return *state;
}

}  // namespace

TEST_CASE("every change results in another state") {
  std::string mode;
  SUBCASE("with a rollback journal") {
    mode = "DELETE";
  }
  SUBCASE("with a write-ahead log") {
    mode = "WAL";
  }
  const TemporaryFolder folder;
  const fs::path file = folder / "x.fossil";
  TestDatabase writer(file);
  writer.run("PRAGMA journal_mode=" + mode);
  writer.run("CREATE TABLE t(x)");
  std::set<std::string> seen;
  for (int i = 0; i < 300; ++i) {
    CAPTURE(i);
    // Makes several changes in quick succession. Each change must result in a new state.
    const int changes = i % 3 + 1;
    std::optional<std::string> state;
    for (int j = 0; j < changes; ++j) {
      writer.run("UPDATE t SET x = x + 1; INSERT INTO t VALUES (1)");
      state = state_of(file);
      if (state) CHECK(seen.insert(*state).second);
    }
    if (i % 100 == 0) writer.run("PRAGMA wal_checkpoint(TRUNCATE)");
    if (i % 150 == 0) CHECK(state_when_quiet(file) == state_when_quiet(file));
    // If state_of() returned no state right after the change, it now returns a new one.
    if (i == 250) CHECK(seen.insert(state_when_quiet(file)).second == !state);
  }
}

TEST_CASE("reads and other open connections do not change the state") {
  const TemporaryFolder folder;
  const fs::path file = folder / "x.fossil";
  TestDatabase writer(file);
  writer.run("PRAGMA journal_mode=WAL; CREATE TABLE t(x); INSERT INTO t VALUES (1)");
  const std::string before = state_when_quiet(file);
  TestDatabase reader(file);
  reader.run("SELECT * FROM t");
  CHECK(state_when_quiet(file) == before);
}

TEST_CASE("a replaced file has another state") {
  const TemporaryFolder folder;
  const fs::path file = folder / "x.fossil";
  { TestDatabase(file).run("CREATE TABLE t(x)"); }
  fs::copy_file(file, folder / "y.fossil");
  const std::string before = state_when_quiet(file);
  fs::rename(folder / "y.fossil", file);
  CHECK(state_when_quiet(file) != before);
  fs::remove(file);
  CHECK(state_when_quiet(file) != before);
}

TEST_CASE("something other than a file has no state") {
  CHECK_FALSE(state_of("/"));
  CHECK_FALSE(state_of("/dev/null"));
}
