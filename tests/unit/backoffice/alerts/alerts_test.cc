#include "quarry/backoffice/alerts.h"

#include <doctest/doctest.h>
#include <fmt/core.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <optional>
#include <string>
#include <vector>

#include "eventually.h"
#include "mail_sender.h"
#include "quarry/repository/alerts.h"
#include "quarry/repository/mail_outbox.h"
#include "quarry/repository/replica_tables.h"
#include "world.h"

using namespace quarry;
using namespace quarry::backoffice;
using namespace quarry::repository;
using namespace quarry::repository::test;

namespace {

constexpr std::int64_t kSecond = 1000;
constexpr std::int64_t kDay = 86400 * kSecond;

/// Records the emails. If `error` is set, sending fails with that error instead.
class RecordingSender {
 public:
  SendMail function() {
    return [this](const RenderedMail& mail) -> Result<void> {
      if (error) return fail(*error, "the test's error");
      to.push_back(mail.to);
      messages.push_back(mail.message);
      return {};
    };
  }

  std::optional<ErrorCode> error;
  std::vector<std::string> to;
  std::vector<std::string> messages;
};

/// A repository whose subscribers are notified of check-ins.
class AlertWorld : public World {
 public:
  AlertWorld() {
    sql("CREATE TABLE subscriber(subscriberId INTEGER PRIMARY KEY,"
        " subscriberCode BLOB DEFAULT (randomblob(32)) UNIQUE, semail TEXT UNIQUE COLLATE nocase,"
        " suname TEXT, sverified BOOLEAN DEFAULT true, sdonotcall BOOLEAN, sdigest BOOLEAN, ssub "
        "TEXT,"
        " sctime INTDATE, mtime INTDATE, smip TEXT, lastContact INT)");
    sql("CREATE TABLE pending_alert(eventid TEXT PRIMARY KEY, sentSep BOOLEAN DEFAULT false,"
        " sentDigest BOOLEAN DEFAULT false, sentMod BOOLEAN DEFAULT false) WITHOUT ROWID");
    set("email-send-method", "dir");
    set("email-send-dir", folder.string());
    set("email-url", "https://example.org/p");
    set("email-subname", "[p]");
    set("email-self", "p@example.org");
  }

  void set(const std::string& name, const std::string& value) {
    sql(fmt::format("REPLACE INTO config(name,value,mtime) VALUES('{}','{}',1)", name, value));
  }
  void subscribe(const std::string& address, bool digest = false, int contact = 30000) {
    sql(
        fmt::format("INSERT INTO subscriber(semail,sdonotcall,sdigest,ssub,mtime,lastContact)"
                    " VALUES('{}',0,{},'c',1,{})",
                    address, digest ? 1 : 0, contact));
  }
  void check_in(const std::string& comment) {
    clock.advance(kSecond);
    put(artifact::format_check_in(
        {.comment = comment,
         .date = clock.now(),
         .user = "ann",
         .files = {},
         .parents = {*artifact::HashName::parse(sql("SELECT uuid FROM blob WHERE rid=1"))},
         .repository_checksum = "",
         .tags = {}}));
  }
  using Step = Result<AlertReport> (*)(Repository&, const AlertOptions&);
  AlertReport run(Step step = send_alerts) {
    const auto report = step(*repository, {.clock = &clock, .send = sender.function()});
    REQUIRE_MESSAGE(report, report.error().message);
    return *report;
  }
  /// Makes a run in which every email fails with ERROR.
  AlertReport fail(ErrorCode error) {
    sender.error = error;
    const AlertReport report = run();
    sender.error.reset();
    return report;
  }

  RecordingSender sender;
};

std::size_t count(const std::string& text, const std::string& part) {
  std::size_t found = 0;
  for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) {
    ++found;
  }
  return found;
}

}  // namespace

TEST_CASE("new events are reported once, in one mail") {
  AlertWorld world;
  world.subscribe("ann@example.net");
  world.check_in("one");
  world.check_in("two");
  const AlertReport report = world.run();
  CHECK(report.is_enabled);
  CHECK(report.events == 2);
  CHECK(report.sent == 1);
  CHECK(report.waiting == 0);
  CHECK(count(world.sender.messages.at(0), "/info/") == 2);
  CHECK(world.run().sent == 0);
  world.check_in("three");
  CHECK(world.run().sent == 1);
  CHECK(count(world.sender.messages.at(1), "/info/") == 1);
}

TEST_CASE("a run with nothing to do writes nothing") {
  AlertWorld world;
  world.subscribe("ann@example.net");
  world.check_in("one");
  world.run(send_due_mail);
  {
    // The receipt holds the write lock, so the run would fail if it tried to write.
    auto receipt = world.repository->receive();
    REQUIRE(receipt);
    auto other = Repository::open(
        world.file(), {.busy_timeout = std::chrono::milliseconds(10), .clock = &world.clock});
    REQUIRE(other);
    CHECK(send_due_mail(**other, {.clock = &world.clock, .send = world.sender.function()}));
  }
  CHECK(world.sender.to.size() == 1);
}

TEST_CASE("an email that could not be sent is retried unchanged") {
  AlertWorld world;
  world.subscribe("ann@example.net");
  world.check_in("one");
  const AlertReport failed = world.fail(ErrorCode::kIo);
  CHECK(failed.failed == 1);
  CHECK(failed.waiting == 1);
  CHECK(failed.complaints.size() == 1);
  CHECK(world.run().sent == 0);
  world.clock.advance(59 * kSecond);
  CHECK(world.run().sent == 0);
  world.clock.advance(1 * kSecond);
  CHECK(world.run().sent == 1);
  CHECK(world.run().waiting == 0);
}

TEST_CASE("the time of the next retry is known, unless mail is disabled") {
  AlertWorld world;
  world.subscribe("ann@example.net");
  const auto until_next = [&] {
    const auto wait = until_next_mail(*world.repository, {.clock = &world.clock});
    REQUIRE(wait);
    return *wait;
  };
  CHECK_FALSE(until_next());
  world.check_in("one");
  world.fail(ErrorCode::kIo);
  CHECK(until_next() == std::chrono::seconds(60));
  world.clock.advance(59 * kSecond);
  CHECK(until_next() == std::chrono::seconds(1));
  world.clock.advance(60 * kSecond);
  CHECK(until_next() == std::chrono::seconds(0));
  world.set("email-send-method", "off");
  CHECK_FALSE(until_next());
  world.set("email-send-method", "dir");
  CHECK(world.run().sent == 1);
  CHECK_FALSE(until_next());
}

TEST_CASE("delays grow to an hour, and after five days an email is given up") {
  AlertWorld world;
  world.subscribe("ann@example.net");
  world.check_in("one");
  world.sender.error = ErrorCode::kIo;
  std::vector<std::int64_t> attempts;
  std::size_t given_up = 0;
  for (std::int64_t minute = 0; minute < 6 * 24 * 60; ++minute) {
    const AlertReport report = world.run();
    if (report.failed > 0) attempts.push_back(minute);
    given_up += report.given_up;
    world.clock.advance(60 * kSecond);
  }
  REQUIRE(attempts.size() > 8);
  CHECK(std::vector(attempts.begin(), attempts.begin() + 8) ==
        std::vector<std::int64_t>{0, 1, 3, 7, 15, 31, 63, 123});
  CHECK(attempts.back() <= 5 * 24 * 60);
  CHECK(attempts.back() > 5 * 24 * 60 - 120);
  CHECK(given_up == 1);
  CHECK(world.run().waiting == 0);
}

TEST_CASE("a run ends when nothing can be sent, or after three consecutive failures") {
  AlertWorld world;
  for (int n = 0; n < 9; ++n) world.subscribe(fmt::format("p{}@example.net", n));
  world.check_in("one");
  CHECK(world.fail(ErrorCode::kBusy).failed == 1);
  const AlertReport report = world.fail(ErrorCode::kIo);
  CHECK(report.failed == 3);
  CHECK(report.waiting == 9);
  CHECK(world.run().sent == 5);
  world.clock.advance(120 * kSecond);
  CHECK(world.run().sent == 4);
}

TEST_CASE("a subscriber who lost a right while an email waited does not get the email") {
  AlertWorld world;
  world.subscribe("ann@example.net");
  world.subscribe("nobody-any-more@example.net");
  world.sql("UPDATE subscriber SET suname='ann' WHERE semail='ann@example.net'");
  world.check_in("one");
  CHECK(world.fail(ErrorCode::kIo).waiting == 2);
  world.sql("UPDATE user SET cap=replace(cap,'o','') WHERE login IN ('nobody','anonymous')");
  world.clock.advance(120 * kSecond);
  const AlertReport report = world.run();
  CHECK(world.sender.to == std::vector<std::string>{"ann@example.net"});
  CHECK(report.waiting == 0);
}

TEST_CASE("a run ends when its time is over, and the next one continues") {
  AlertWorld world;
  for (int n = 0; n < 5; ++n) world.subscribe(fmt::format("p{}@example.net", n));
  world.check_in("one");
  const auto report =
      send_alerts(*world.repository, {.clock = &world.clock,
                                      .is_over = [&] { return world.sender.to.size() >= 2; },
                                      .send = world.sender.function()});
  REQUIRE(report);
  CHECK(report->sent == 2);
  CHECK(report->waiting == 3);
  CHECK(world.run().sent == 3);
}

TEST_CASE("an email claimed by a run that was killed is sent after five minutes") {
  AlertWorld world;
  world.subscribe("ann@example.net");
  world.check_in("one");
  {
    auto receipt = world.repository->receive();
    MailOutbox outbox(*world.repository);
    const MailTime now(world.clock.now().value / 1000);
    REQUIRE(outbox.add(
        MailKind::kAlert, world.sql("SELECT hex(subscriberCode) FROM subscriber"),
        {*AlertReference::parse("c1:" + world.sql("SELECT uuid FROM blob WHERE rid=1"))}, now));
    REQUIRE(outbox.claim(now, now + std::chrono::minutes(5)).value());
    REQUIRE(receipt->commit());
  }
  CHECK(world.run().waiting == 1);
  CHECK(world.sender.to.size() == 1);
  world.clock.advance(299 * kSecond);
  world.run();
  CHECK(world.sender.to.size() == 1);
  world.clock.advance(kSecond);
  CHECK(world.run().waiting == 0);
  CHECK(world.sender.to.size() == 2);
}

TEST_CASE("a clock that was set back delays no mail") {
  AlertWorld world;
  world.subscribe("ann@example.net");
  world.check_in("one");
  world.fail(ErrorCode::kIo);
  world.clock.advance(-10 * kDay);
  CHECK(world.run().sent == 1);
}

TEST_CASE("the digest goes out in the first run of a day that begins at noon") {
  AlertWorld world;
  world.subscribe("ann@example.net", true);
  world.check_in("one");
  CHECK(world.run(send_due_mail).sent == 1);
  world.check_in("two");
  CHECK(world.run(send_due_mail).sent == 0);
  const std::int64_t noon = kDay - (world.clock.now().value + kDay / 2) % kDay;
  world.clock.advance(noon - kSecond);
  CHECK(world.run(send_due_mail).sent == 0);
  world.check_in("three");
  const AlertReport report = world.run(send_due_mail);
  CHECK(report.sent == 1);
  CHECK(count(world.sender.messages.back(), "/info/") == 2);
  CHECK(world.sql("SELECT count(*) FROM pending_alert") == "0");
}

TEST_CASE("in a group, only the host that has claimed the day sends the digest") {
  AlertWorld world;
  world.subscribe("ann@example.net", true);
  world.check_in("one");
  {
    auto receipt = world.repository->receive();
    REQUIRE(receipt);
    REQUIRE(ReplicaTables(*world.repository).create({}, "host", {world.clock.now().value + 1}));
    REQUIRE(receipt->commit());
  }
  bool is_ours = false;
  const auto run = [&](bool claims = true) {
    AlertOptions options{.clock = &world.clock, .send = world.sender.function()};
    if (claims) options.claim_day = [&](std::int64_t) -> Result<bool> { return is_ours; };
    const auto report = send_due_mail(*world.repository, options);
    REQUIRE(report);
    return *report;
  };
  CHECK(run().sent == 0);
  CHECK(run(/*claims=*/false).sent == 0);
  CHECK(world.sender.to.empty());
  is_ours = true;
  world.check_in("two");  // not published yet
  CHECK(run().sent == 1);
  CHECK(count(world.sender.messages.at(0), "/info/") == 1);
  const std::string name = world.sql("SELECT uuid FROM blob WHERE rid=2");
  CHECK(world.sql("SELECT CAST(content AS TEXT) FROM fx_quarry_replica_out") ==
        "digested " + name + "\n");
  CHECK(run().sent == 0);
  CHECK(world.sql("SELECT count(*) FROM pending_alert WHERE NOT sentDigest") == "1");
}

TEST_CASE("a run has the same result as fossil's backoffice, which then finds nothing to do") {
  const auto today = static_cast<int>(base::system_clock().now().value / kDay);
  AlertWorld ours;
  AlertWorld fossils;
  for (AlertWorld* world : {&ours, &fossils}) {
    world->subscribe("ann@example.net");
    world->subscribe("bob@example.net", true, today - 25);
    world->check_in("one");
    world->set("email-renew-interval", "30");
    world->set("email-renew-warning", "20000");
  }
  REQUIRE(send_due_mail(*ours.repository, {}));
  REQUIRE_MESSAGE(fossils.fossil("backoffice " + fossils.file().string()), fossils.fossil_output);
  const std::string left =
      "SELECT group_concat(name||'='||value) FROM (SELECT name, value FROM config"
      " WHERE name GLOB 'email-[rl]*' ORDER BY name)";
  CHECK(ours.sql(left) == fossils.sql(left));
  CHECK(ours.sql("SELECT count(*) FROM pending_alert") == "0");
  CHECK(fossils.sql("SELECT count(*) FROM pending_alert") == "0");
  const auto mails = [](const AlertWorld& world) {
    return std::ranges::count_if(
        std::filesystem::directory_iterator(world.folder.path()),
        [](const auto& entry) { return entry.path().extension() == ".email"; });
  };
  CHECK(mails(fossils) == 3);
  CHECK(mails(ours) == 3);
  REQUIRE(ours.fossil("backoffice " + ours.file().string()));
  CHECK(mails(ours) == 3);
}

TEST_CASE("an expiring subscription gets one notice, and then no more mail") {
  AlertWorld world;
  const std::int64_t today = world.clock.now().value / kDay;
  world.set("email-renew-interval", "30");
  world.set("email-renew-warning", std::to_string(today - 40));
  world.subscribe("old@example.net", false, static_cast<int>(today) - 25);
  world.subscribe("new@example.net", false, static_cast<int>(today) - 10);
  CHECK(world.run(send_renewals).sent == 1);
  CHECK(world.sender.to == std::vector<std::string>{"old@example.net"});
  CHECK(count(world.sender.messages.at(0), "/renew/") == 1);
  CHECK(world.run(send_renewals).sent == 0);
  world.clock.advance(7 * kDay);
  world.run(send_renewals);
  world.sender.to.clear();
  world.check_in("one");
  world.run();
  CHECK(world.sender.to == std::vector<std::string>{"new@example.net"});
}

TEST_CASE("many events are split into emails of a thousand") {
  AlertWorld world;
  world.subscribe("ann@example.net");
  const std::string rid = world.sql("SELECT objid FROM event LIMIT 1");
  world.sql(
      "WITH RECURSIVE n(x) AS (VALUES(90000) UNION ALL SELECT x+1 FROM n WHERE x<92499)"
      " INSERT INTO pending_alert(eventid) SELECT 'c'||x FROM n");
  world.sql(fmt::format("INSERT INTO pending_alert(eventid) VALUES('c{}')", rid));
  const AlertReport report = world.run();
  CHECK(report.events == 2501);
  CHECK(report.sent == 1);  // only the last event refers to a check-in that exists
  CHECK(world.sql("SELECT count(*) FROM pending_alert WHERE NOT sentSep") == "0");
}

TEST_CASE("an event whose artifact was removed is not reported") {
  AlertWorld world;
  world.subscribe("ann@example.net");
  world.check_in("one");
  world.fail(ErrorCode::kIo);
  world.sql("DELETE FROM event");
  world.clock.advance(60 * kSecond);
  const AlertReport report = world.run();
  CHECK(report.sent == 0);
  CHECK(report.waiting == 0);
}

TEST_CASE("tables of fossil's first versions get the missing columns") {
  AlertWorld world;
  world.sql("DROP TABLE pending_alert");
  world.sql(
      "CREATE TABLE pending_alert(eventid TEXT PRIMARY KEY, sentSep BOOLEAN DEFAULT false,"
      " sentDigest BOOLEAN DEFAULT false) WITHOUT ROWID");
  world.sql("ALTER TABLE subscriber DROP COLUMN lastContact");
  world.sql(
      "INSERT INTO subscriber(semail,sdonotcall,sdigest,ssub,mtime)"
      " VALUES('ann@example.net',0,0,'c',1)");
  world.check_in("one");
  CHECK(world.run().sent == 1);
  CHECK(world.sql("SELECT sentMod FROM pending_alert") == "0");
}

namespace {

/// Returns true if the process has exited. Zombies count as exited.
bool is_over(int pid) {
  std::ifstream file("/proc/" + std::to_string(pid) + "/stat");
  std::string number, name, state;
  return !(file >> number >> name >> state) || state == "Z";
}

}  // namespace

TEST_CASE("a command that times out is killed with its children") {
  const TemporaryFolder folder;
  const auto number = folder / "number";
  const std::string command = "sleep 600 & echo $! >" + number.string() + "; sleep 600";
  const auto begin = std::chrono::steady_clock::now();
  const auto sent = pipe_mail(command, std::chrono::milliseconds(300),
                              {.from = "a@b", .to = "c@d", .message = "x\r\n"});
  REQUIRE_FALSE(sent);
  CHECK(sent.error().code == ErrorCode::kIo);
  CHECK(std::chrono::steady_clock::now() - begin < std::chrono::minutes(1));
  int left = 0;
  std::ifstream(number) >> left;
  REQUIRE(left > 0);
  CHECK(eventually([left] { return is_over(left); }));
}

TEST_CASE("a command that does not read, or prints endlessly, does not block") {
  const std::string large(1 << 20, 'x');
  const RenderedMail mail{.from = "a@b", .to = "c@d", .message = large};
  CHECK(pipe_mail("true", kPatienceTime, mail));
  const auto sent = pipe_mail("yes no | head -c 1000000; exit 1", kPatienceTime, mail);
  REQUIRE_FALSE(sent);
  CHECK(sent.error().message.size() < 2500);
}
