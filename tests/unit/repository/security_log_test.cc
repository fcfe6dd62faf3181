#include "quarry/repository/security_log.h"

#include <doctest/doctest.h>

#include <map>
#include <string>

#include "quarry/repository/receipt.h"
#include "world.h"

using namespace quarry;
using namespace quarry::repository;
using namespace quarry::repository::test;

namespace {

SecurityNews security_after(World& world, const SecurityMark& mark, std::size_t limit = 100) {
  const auto snapshot = world.repository->snapshot();
  auto news = SecurityLog(*world.repository).after(mark, limit);
  REQUIRE(news);
  return *news;
}

SecurityMark security_end(World& world) {
  const auto snapshot = world.repository->snapshot();
  const auto mark = SecurityLog(*world.repository).end();
  REQUIRE(mark);
  return *mark;
}

void make_logs(World& world) {
  world.sql("CREATE TABLE accesslog(uname TEXT, ipaddr TEXT, success BOOLEAN, mtime TIMESTAMP)");
  world.sql("CREATE TABLE admin_log(id INTEGER PRIMARY KEY, time INTEGER, page, who, what)");
}

void log_in(World& world, const std::string& user, bool success) {
  world.sql("INSERT INTO accesslog VALUES('" + user + "','192.0.2.1'," + (success ? "1" : "0") +
            ",julianday('2026-01-02'))");
}

}  // namespace

TEST_CASE("a repository without fossil's logs has no security events") {
  World world;
  CHECK(security_end(world) == SecurityMark{});
  const SecurityNews news = security_after(world, {});
  CHECK(news.is_at_end);
  CHECK((news.failed.empty() && news.actions.empty() && news.users.empty()));
}

TEST_CASE("failed logins are reported by user and address, and none is missed at a limit") {
  World world;
  make_logs(world);
  for (int i = 0; i < 7; ++i) log_in(world, "ann", false);
  log_in(world, "bob", true);
  for (int i = 0; i < 3; ++i) log_in(world, "eve", false);
  for (const std::size_t limit : {1U, 2U, 5U, 100U}) {
    SecurityMark mark;
    std::map<std::string, std::uint64_t> counts;
    for (bool is_at_end = false; !is_at_end;) {
      const SecurityNews news = security_after(world, mark, limit);
      for (const FailedLogins& failed : news.failed) counts[failed.user] += failed.count;
      REQUIRE((news.is_at_end || news.mark != mark));
      mark = news.mark;
      is_at_end = news.is_at_end;
    }
    CHECK(counts == std::map<std::string, std::uint64_t>{{"ann", 7}, {"eve", 3}});
    CHECK(mark == security_end(world));
  }
}

TEST_CASE("deleted rows do not leave a mark after the end") {
  World world;
  make_logs(world);
  for (int i = 0; i < 5; ++i) log_in(world, "ann", false);
  const SecurityMark told = security_end(world);
  world.sql("DELETE FROM accesslog");
  const SecurityMark mark = security_after(world, told).mark;
  CHECK(mark.access == 0);
  log_in(world, "eve", false);
  CHECK(security_after(world, mark).failed.size() == 1);
}
