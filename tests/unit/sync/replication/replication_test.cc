// Tests replication with several repositories and a list of entries as the stream.
#include "quarry/sync/replication.h"

#include <doctest/doctest.h>
#include <fmt/core.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <map>
#include <memory>
#include <optional>
#include <random>
#include <ranges>

#include "quarry/artifact/delta.h"
#include "quarry/artifact/digest.h"
#include "quarry/repository/alerts.h"
#include "quarry/repository/arrivals.h"
#include "quarry/repository/received_list.h"
#include "quarry/repository/security_log.h"
#include "quarry/repository/users.h"
#include "quarry/repository/whole_file.h"
#include "work.h"
#include "world.h"

using namespace quarry::sync;
using quarry::artifact::HashName;
using quarry::base::ErrorCode;
using quarry::repository::Alerts;
using quarry::repository::AlertTiming;
using quarry::repository::Arrival;
using quarry::repository::ArrivalMark;
using quarry::repository::Arrivals;
using quarry::repository::Receipt;
using quarry::repository::ReplicaTables;
using quarry::repository::SecurityLog;

namespace {

constexpr std::size_t kMaxEntry = 2000;
constexpr quarry::base::UnixMillis kNever{std::numeric_limits<std::int64_t>::max() / 2};
constexpr std::array kNames{"host0", "host1", "host2", "host3", "host4", "host5", "host6", "host7"};

struct Published {
  int host;
  std::string content;
};
using Stream = std::vector<Published>;

class Host : public World {
 public:
  Host(Stream& stream, int number)
      : number_(number), stream_(stream), replication_(std::in_place, repository(), kMaxEntry) {
    clock().passed = number * 1000000LL;
    add_user("oy", "oy", secret_of("oy", "pw"));
    REQUIRE(replication_->prepare({.created = 1}, name(), kNever) == true);
  }

  Replication& replication() { return *replication_; }
  const char* name() const { return kNames.at(static_cast<std::size_t>(number_)); }

  /// Publishes everything. If LOSES_ANSWER is true, does not record that.
  void publish(bool loses_answer = false) {
    REQUIRE(replication_->find_changes().has_value());
    for (;;) {
      const auto entries = replication_->outgoing(3);
      REQUIRE_MESSAGE(entries.has_value(), (entries ? "" : entries.error().message));
      for (const OutgoingEntry& entry : *entries) {
        CHECK_FALSE(entry.content.empty());
        send(entry);
      }
      if (entries->empty() || loses_answer) return;
      REQUIRE(replication_->published(*entries).has_value());
    }
  }

  void send(const OutgoingEntry& entry) { stream_.push_back({number_, entry.content}); }

  quarry::base::Result<void> try_apply(std::size_t count) {
    const std::size_t end = read_ + std::min(count, stream_.size() - read_);
    std::vector<IncomingEntry> entries;
    for (std::size_t i = repeats_ && read_ > 0 ? read_ - 1 : read_; i < end; ++i) {
      entries.push_back({.sequence = i + 1,
                         .is_own = stream_[i].host == number_,
                         .host = kNames.at(static_cast<std::size_t>(stream_[i].host)),
                         .content = stream_[i].content});
    }
    QUARRY_TRY(replication_->apply(entries, {.created = 1, .sequence = end}));
    read_ = end;
    return {};
  }
  void apply(std::size_t count = SIZE_MAX) {
    const auto applied = try_apply(count);
    REQUIRE_MESSAGE(applied.has_value(), (applied ? "" : applied.error().message));
    REQUIRE(replication_->position() == ReplicaPosition{.created = 1, .sequence = read_});
  }
  /// Does what quarry-replica does at its next start after it was killed.
  void restart() {
    replication_.emplace(repository(), kMaxEntry);
    REQUIRE(replication_->prepare({}, name(), kNever) == false);
    read_ = replication_->position()->sequence;
  }
  /// Returns the write-ahead log, which changes with each write transaction.
  std::string log() const { return read_bytes(path().string() + "-wal"); }
  bool is_at_end() const { return read_ == stream_.size(); }
  /// Whether apply() passes the last applied entry again.
  void repeat_entries(bool repeats) { repeats_ = repeats; }

  template <typename Action>
  void receive(Action&& action) {
    auto receipt = repository().receive();
    REQUIRE(receipt.has_value());
    receipt->set_sender({.uid = 1, .address = "192.0.2.1"});
    action(*receipt);
    REQUIRE(receipt->commit().has_value());
  }
  void put(std::string_view content, bool is_private = false) {
    receive([&](Receipt& receipt) {
      const Arrival arrival{
          .name = *HashName::parse(sha3(content)), .payload = content, .is_private = is_private};
      REQUIRE(receipt.store(arrival).has_value());
    });
  }
  void put_delta(std::string_view content, std::string_view source) {
    receive([&](Receipt& receipt) {
      const std::string delta = quarry::artifact::delta_create(source, content);
      REQUIRE(receipt
                  .store({.name = *HashName::parse(sha3(content)),
                          .payload = delta,
                          .delta_source = HashName::parse(sha3(source))})
                  .has_value());
    });
  }
  void make_public(std::string_view content) {
    receive([&](Receipt& receipt) {
      REQUIRE(receipt.set_private(*HashName::parse(sha3(content)), false).has_value());
    });
  }
  void set(const std::string& name, const std::string& setting) {
    receive([&](Receipt& receipt) { REQUIRE(receipt.set_config(name, setting).has_value()); });
  }
  std::string setting(const std::string& name) {
    return value("SELECT value FROM config WHERE name='" + name + "'");
  }
  /// Stores an unversioned file, even if the stored file is newer.
  void put_file(const std::string& name, const std::string& content, std::int64_t mtime) {
    const std::string hash = content.empty() ? "-" : sha1(content);
    receive([&](Receipt& receipt) {
      REQUIRE(receipt
                  .replace_unversioned({.name = name,
                                        .mtime = mtime,
                                        .hash = hash,
                                        .content = content.empty()
                                                       ? std::nullopt
                                                       : std::optional<std::string_view>(content)})
                  .has_value());
    });
  }

  /// Makes reports() return what arrives from now on, and fossil's table of pending mail exist.
  void begin_reports() {
    sql("CREATE TABLE pending_alert(eventid TEXT PRIMARY KEY, sentSep BOOLEAN DEFAULT false,"
        " sentDigest BOOLEAN DEFAULT false, sentMod BOOLEAN DEFAULT false) WITHOUT ROWID");
    const auto snapshot = repository().snapshot();
    REQUIRE(snapshot.has_value());
    reported_ = *Arrivals(repository()).end();
  }
  /// Returns for each artifact what has reported it since the last call: e (an event), h (a hook), m
  /// (mail).
  std::map<std::string, std::string> reports() {
    std::map<std::string, std::string> reports;
    const auto add = [&](const auto& received) {
      for (const auto& each : received) {
        for (const auto& artifact : each.artifacts)
          reports[std::string(artifact.name.str())] += 'e';
      }
    };
    receive([&](Receipt&) {
      Arrivals arrivals(repository());
      quarry::repository::ReceivedList list(repository());
      const auto last = list.last_receipt();
      REQUIRE(last.has_value());
      const auto text = list.lines(reported_.receipt, *last, 1 << 20);
      REQUIRE(text.has_value());
      CHECK(list.has_own(reported_.receipt, *last) == !text->empty());
      for (const auto line : std::views::split(*text, '\n')) {
        const std::string words(line.begin(), line.end());
        if (!words.empty()) reports[words.substr(0, words.find(' '))] += 'h';
      }
      const auto batch = arrivals.after(reported_, 10000);
      REQUIRE(batch.has_value());
      REQUIRE(arrivals.defer(*batch).has_value());
      add(batch->received);
      reported_ = batch->mark;
      const auto ready = arrivals.ready(reported_, 10000);
      REQUIRE(ready.has_value());
      REQUIRE(arrivals.forget(*ready).has_value());
      add(ready->received);
    });
    for (const std::string& name :
         values("SELECT uuid FROM pending_alert JOIN blob ON rid=substr(eventid,2)"
                " WHERE NOT sentSep")) {
      reports[name.substr(0, name.find('|'))] += 'm';
    }
    sql("DELETE FROM pending_alert");
    return reports;
  }
  /// Returns "LOGIN CAPABILITIES" for the changes of users since the last call.
  std::vector<std::string> changes_of_users() {
    std::vector<std::string> changes;
    receive([&](Receipt&) {
      SecurityLog log(repository());
      if (log.knows_users()) {
        const auto news = log.after({}, 100);
        REQUIRE(news.has_value());
        for (const auto& user : news->users) {
          changes.push_back(fmt::format("{} {}", user.login, user.capabilities));
        }
      }
      REQUIRE(log.note_users().has_value());
    });
    return changes;
  }

  /// Returns everything that is replicated.
  std::vector<std::string> state() {
    std::vector<std::string> rows;
    {
      const auto snapshot = repository().snapshot();
      REQUIRE(snapshot.has_value());
      repository().settings().visit_whole_configuration(
          [&](std::string_view name, std::string_view content) {
            rows.push_back(fmt::format("{} {}", name, content));
          });
      REQUIRE(ReplicaTables(repository()).visit_names("", "", [&](auto name, bool) {
        rows.push_back(fmt::format("artifact {}", name));
        return true;
      }));
    }
    std::ranges::copy(values("SELECT 'private',uuid FROM private JOIN blob USING(rid) WHERE size>=0"
                             " AND uuid NOT IN (SELECT uuid FROM shun)"),
                      std::back_inserter(rows));
    if (value("SELECT count(*) FROM sqlite_schema WHERE name='unversioned'") != "0") {
      std::ranges::copy(values("SELECT name,mtime,hash,sz,encoding,content FROM unversioned"),
                        std::back_inserter(rows));
    }
    std::ranges::sort(rows);
    return rows;
  }

 private:
  int number_;
  Stream& stream_;
  std::optional<Replication> replication_;
  std::size_t read_ = 0;
  bool repeats_ = false;
  ArrivalMark reported_;
};

struct Group {
  explicit Group(int count) {
    for (int i = 0; i < count; ++i) hosts.push_back(std::make_unique<Host>(stream, i));
  }
  Host& operator[](std::size_t i) { return *hosts[i]; }

  /// Publishes and applies until every host has applied every entry.
  void settle() {
    for (int round = 0; round < 20; ++round) {
      const std::size_t before = stream.size();
      const bool was_at_end =
          std::ranges::all_of(hosts, [](const auto& host) { return host->is_at_end(); });
      for (const auto& host : hosts) host->publish();
      for (const auto& host : hosts) host->apply();
      if (was_at_end && stream.size() == before) return;
    }
    FAIL("the hosts do not stop to publish");
  }

  void check_equal() {
    settle();
    const std::vector<std::string> first = hosts[0]->state();
    const auto contents = hosts[0]->replication().contents();
    REQUIRE(contents.has_value());
    for (const auto& host : hosts) {
      std::vector<std::string> difference;
      std::ranges::set_symmetric_difference(first, host->state(), std::back_inserter(difference));
      CHECK(fmt::format("{}", fmt::join(difference, "\n")) == "");
      CHECK(host->replication().contents()->digest == contents->digest);
      const auto verified = quarry::repository::verify(host->path());
      REQUIRE(verified.has_value());
      CHECK(fmt::format("{}", fmt::join(verified->faults, "\n")) == "");
      REQUIRE(host->replication().record_progress().has_value());
      CHECK(host->value("SELECT count(*) FROM fx_quarry_replica_out") == "0");
    }
  }

  Stream stream;
  std::vector<std::unique_ptr<Host>> hosts;
};

std::string lines(int number, int count) {
  std::string text;
  for (int line = 0; line < count; ++line) text += fmt::format("line {} of {}\n", line, number);
  return text;
}

std::string ticket_change(int ticket, int number) {
  const std::string text =
      fmt::format("D 2024-01-0{}T00:00:00.000\nJ foo value{}\nJ status s{}\nK {}\nU ann\n",
                  1 + number % 9, number, number, sha1(fmt::format("ticket {}", ticket)));
  return text + "Z " + quarry::artifact::md5_hex(text) + "\n";
}

const std::string kTicketTable =
    "CREATE TABLE ticket(tkt_id INTEGER PRIMARY KEY, tkt_uuid TEXT UNIQUE, tkt_mtime DATE,"
    " tkt_ctime DATE, status TEXT, {} TEXT);"
    "CREATE TABLE ticketchng(tkt_id INTEGER REFERENCES ticket, tkt_rid INTEGER REFERENCES blob,"
    " tkt_mtime DATE, tkt_user TEXT, status TEXT);"
    "CREATE INDEX ticketchng_idx1 ON ticketchng(tkt_id, tkt_mtime);";

}  // namespace

TEST_CASE("artifacts of a push arrive on the other host with their sender and time") {
  Group group(2);
  group[0].say_as("i", kPushCard + file("one") + file(lines(1, 50)));
  group[0].put_delta(lines(1, 50) + "more\n", lines(1, 50));
  group[0].publish();
  REQUIRE(group.stream.size() == 2);
  CHECK(group.stream[0].content.starts_with("from 1700000000000 i 192.0.2.7\n"));
  // The delta is sent as it is stored, because its source was published before.
  CHECK(group.stream[1].content.contains(" " + sha3(lines(1, 50)) + " "));
  CHECK(group.stream[1].content.size() < 300);
  group[1].sql(
      "INSERT INTO user(uid,login) VALUES(99,'x'); UPDATE user SET uid=100 WHERE login='i'");
  group[1].apply();
  CHECK(group[1].values("SELECT DISTINCT uid, round(mtime*86400), ipaddr FROM rcvfrom"
                        " WHERE rcvid>1") == group[0].values("SELECT CASE uid WHEN 1 THEN 1 ELSE"
                                                             " 100 END, round(mtime*86400), ipaddr"
                                                             " FROM rcvfrom WHERE rcvid>1"));
  group.check_equal();
  // What came from the stream is not published again.
  CHECK(std::ranges::none_of(group.stream, [](const Published& entry) {
    return entry.host == 1 && entry.content.starts_with("from");
  }));
}

TEST_CASE("the initial contents of a repository are not published") {
  Group group(1);
  group[0].publish();
  CHECK(group.stream.empty());
  CHECK(group[0].replication().prepare({}, group[0].name(), kNever) == false);
}

TEST_CASE("rows and files are replaced by the last entry, whatever their mtime") {
  Group group(2);
  group[0].set("project-name", "first");
  group[0].put_file("a.txt", "first", 5000);
  group[0].publish();
  group[1].clock().passed = -1000000000;
  group[1].set("project-name", "second");
  group[1].put_file("a.txt", "second", 3);
  group[1].publish();
  group.check_equal();
  for (const auto& host : group.hosts) {
    CHECK(host->setting("project-name") == "second");
    CHECK(host->value("SELECT content FROM unversioned") == "second");
  }
  group[0].sql("DELETE FROM unversioned; DELETE FROM config WHERE name='project-name'");
  group.check_equal();
  CHECK(group[1].value("SELECT count(*) FROM unversioned") == "0");
  CHECK(group[1].setting("project-name") == "(none)");
}

TEST_CASE("a setting that changes back is published both times") {
  Group group(2);
  for (const char* setting : {"A", "B", "A"}) {
    group[0].set("index-page", setting);
    group[0].publish();
  }
  REQUIRE(group.stream.size() == 3);
  CHECK(group.stream[0].content != group.stream[2].content);
  group[1].apply(2);
  CHECK(group[1].setting("index-page") == "B");
  group.check_equal();
  CHECK(group[1].setting("index-page") == "A");
}

TEST_CASE("a change that the stream has stored late does not bring an old setting back") {
  Group group(3);
  group[0].set("index-page", "old");
  group[0].publish();
  group[0].set("index-page", "new");
  group[0].publish();
  group[1].apply();
  group.stream.push_back(group.stream.front());
  group[1].restart();
  group.check_equal();
  for (const auto& host : group.hosts) CHECK(host->setting("index-page") == "new");
}

TEST_CASE(
    "the numbers of a host's changes rise, even if its clock is behind after it was reinstalled") {
  Group group(2);
  group[0].sql("INSERT INTO fx_quarry_replica_number VALUES('host0',9000000000000)");
  group[0].set("index-page", "first");
  group[0].publish();
  group[0].clock().passed = -1000000000;
  group[0].set("index-page", "second");
  group[0].publish();
  CHECK(group.stream[0].content.starts_with("change 9000000000001\n"));
  CHECK(group.stream[1].content.starts_with("change 9000000000002\n"));
  group[1].set("index-page", "other");
  group[1].publish();
  CHECK(group.stream[2].content.starts_with("change 1700001000000\n"));
}

TEST_CASE("a host does not write while it publishes and reads its own entries") {
  Group group(2);
  group[0].put("one");
  std::string log = group[0].log();
  group[0].publish();
  group[0].apply();
  CHECK(group[0].log() == log);
  REQUIRE(group[0].replication().record_progress());
  CHECK(group[0].log() != log);
  group[0].set("index-page", "page");
  REQUIRE(group[0].replication().find_changes());
  log = group[0].log();
  group[0].publish();
  group[0].apply();
  group[0].publish();
  CHECK(group[0].log() == log);
  CHECK(group.stream.size() == 2);
  // A change of another host comes before the own one in the stream.
  group[0].set("index-page", "own");
  REQUIRE(group[0].replication().find_changes());
  group[1].apply();
  group[1].set("index-page", "other");
  group[1].publish();
  group[0].apply();
  CHECK(group[0].setting("index-page") == "other");
  group.check_equal();
  CHECK(group[1].setting("index-page") == "own");
}

TEST_CASE("what was received shortly before the first start is published") {
  World world;
  world.sql("UPDATE rcvfrom SET mtime=julianday('2020-01-01'); UPDATE config SET mtime=1");
  const auto put = [&](std::string_view content, std::int64_t seconds) {
    world.clock().passed = seconds * 1000;
    auto receipt = world.repository().receive();
    REQUIRE(receipt);
    REQUIRE(receipt->store({.name = *HashName::parse(sha3(content)), .payload = content}));
    REQUIRE(receipt->set_config("index-page", content));
    REQUIRE(receipt->commit());
  };
  put("old", 0);
  Replication replication(world.repository(), kMaxEntry);
  put("new", 100);
  REQUIRE(replication.prepare({}, "host", {1700000050000}) == true);
  REQUIRE(replication.find_changes());
  const auto all = replication.outgoing(10);
  REQUIRE(all);
  std::string text;
  for (const OutgoingEntry& entry : *all) text += entry.content;
  CHECK(text.contains(sha3("new")));
  CHECK(text.contains("config /config"));
  CHECK_FALSE(text.contains(sha3("old")));
  CHECK_FALSE(text.contains(world.initial()));
}

TEST_CASE("users are replicated with their passwords, even if they do not have an mtime") {
  Group group(2);
  group[1].sql("UPDATE user SET cookie='c' WHERE login='g'");
  group[0].sql(
      "UPDATE user SET pw='new', info='mail', photo=x'00ff27' WHERE login='g';"
      "UPDATE user SET cap='' WHERE login='anonymous';"
      "INSERT INTO user(login,cap,jx) VALUES('it''s new\\','h','{}');"
      "DELETE FROM user WHERE login='v'");
  group.check_equal();
  CHECK(group[1].values("SELECT pw,info,hex(photo),mtime,cookie FROM user WHERE login='g'") ==
        std::vector<std::string>{"new|mail|00FF27|NULL|NULL|"});
  CHECK(group[1].value("SELECT cap FROM user WHERE login='anonymous'").empty());
  CHECK(group[1].value("SELECT cap FROM user WHERE login='it''s new\\'") == "h");
  CHECK(group[1].value("SELECT count(*) FROM user WHERE login='v'") == "0");
}

TEST_CASE("a local change that is not yet published survives an entry for the same row") {
  Group group(2);
  group[0].set("project-name", "theirs");
  group[0].publish();
  group[1].set("project-name", "ours");
  group[1].apply();
  CHECK(group[1].setting("project-name") == "theirs");
  group[1].publish();
  group.check_equal();
  CHECK(group[0].setting("project-name") == "ours");
}

TEST_CASE("a private artifact stays private on other hosts until it is published") {
  Group group(2);
  group[0].put("secret", true);
  group[0].publish();
  group[1].apply();
  CHECK(group[1].value("SELECT uuid FROM private JOIN blob USING(rid)") == sha3("secret"));
  group[0].make_public("secret");
  group.check_equal();
  CHECK(group[1].value("SELECT count(*) FROM private") == "0");
  // It becomes public on the host that has received it.
  group[0].put("other", true);
  group.settle();
  group[1].make_public("other");
  group.check_equal();
  CHECK(group[0].value("SELECT count(*) FROM private") == "0");
}

TEST_CASE("an artifact that became public before its publication was recorded becomes public") {
  Group group(2);
  group[0].put("secret", true);
  const auto entries = group[0].replication().outgoing(1);
  REQUIRE(entries->size() == 1);
  group.stream.push_back({0, entries->front().content});
  group[0].make_public("secret");
  REQUIRE(group[0].replication().published(*entries).has_value());
  group.check_equal();
  CHECK(group[1].value("SELECT count(*) FROM private") == "0");
}

TEST_CASE("a shunned artifact is not published until it is no longer shunned") {
  Group group(2);
  const std::string shun = "INSERT INTO shun(uuid,mtime) VALUES('" + sha3("bad") + "',1)";
  group[0].sql(shun);
  group[0].sql("DELETE FROM shun");
  group[0].put("bad");
  group[0].sql(shun);
  group.check_equal();
  CHECK(group[1].value("SELECT count(*) FROM blob WHERE uuid='" + sha3("bad") + "'") == "0");
  group[1].sql("DELETE FROM shun");
  group.check_equal();
  CHECK(group[1].value("SELECT count(*) FROM blob WHERE uuid='" + sha3("bad") + "'") == "1");
}

TEST_CASE("a delta on an artifact that was shunned before it arrived is sent whole") {
  Group group(2);
  group[0].put(lines(1, 50));
  group[0].put_delta(lines(1, 50) + "more\n", lines(1, 50));
  group[0].publish();
  group[1].sql("INSERT INTO shun(uuid,mtime) VALUES('" + sha3(lines(1, 50)) + "',1)");
  group.check_equal();
  CHECK(group[1].value("SELECT count(*) FROM blob WHERE size>=0 AND uuid='" +
                       sha3(lines(1, 50) + "more\n") + "'") == "1");
}

TEST_CASE("many receipts whose artifacts must wait do not end the list of entries") {
  Group group(1);
  for (int i = 0; i < 120; ++i) {
    group[0].put_delta(lines(1, 50) + std::to_string(i), lines(1, 50));
  }
  group[0].put("one");
  CHECK(group[0].replication().outgoing(1)->size() == 1);
}

TEST_CASE("a delta that waits for an artifact is sent whole when the artifact is shunned") {
  Group group(2);
  const std::string first = lines(1, 50);
  const std::string second = first + "second\n";
  const std::string third = second + "third\n";
  group[0].put(first);
  group[0].put_delta(second, first);
  group[0].put_delta(third, second);
  group[0].publish();
  group[1].sql("INSERT INTO shun(uuid,mtime) VALUES('" + sha3(first) + "',1)");
  group[1].apply();
  // Now the third artifact waits for the second one on this host.
  group[0].sql("INSERT INTO shun(uuid,mtime) VALUES('" + sha3(second) + "',1)");
  group.check_equal();
  CHECK(group[1].replication().contents()->artifacts == 2);
}

TEST_CASE("a delta whose source is missing is published when the source has arrived") {
  Group group(2);
  group[0].put_delta(lines(1, 50) + "more\n", lines(1, 50));
  group[0].put("other");
  group.check_equal();
  CHECK(group.stream.size() == 1);
  group[0].put(lines(1, 50));
  group.check_equal();
  CHECK(group[1].value("SELECT count(*) FROM blob WHERE size>=0") == "4");
  CHECK(group[0].value("SELECT count(*) FROM fx_quarry_replica_late") == "0");
}

TEST_CASE("artifacts that arrive later under the number of a published receipt are published") {
  // `fossil pull` does this: it uses one number for several transactions, and fills phantoms.
  Group group(2);
  const std::string phantom = sha3("phantom");
  group[0].sql("INSERT INTO blob(rid,rcvid,size,uuid) VALUES(50,0,-1,'" + phantom +
               "'); INSERT INTO phantom VALUES(50); INSERT INTO unclustered VALUES(50)");
  group[0].put("one");
  group[0].put("two");
  group.settle();
  const std::string first =
      group[0].value("SELECT rcvid FROM blob WHERE uuid='" + sha3("one") + "'");
  group[0].put("phantom");
  group[0].put("late");
  group[0].sql("UPDATE blob SET rcvid=" + first + " WHERE uuid IN ('" + phantom + "','" +
               sha3("late") + "')");
  group.check_equal();
  CHECK(group[1].value("SELECT count(*) FROM blob WHERE size>=0") == "5");
}

TEST_CASE("a receipt that is larger than an entry is split, and continues after a lost answer") {
  Group group(2);
  group[0].receive([&](Receipt& receipt) {
    std::mt19937 random(1);
    for (int i = 0; i < 20; ++i) {
      std::string content(700, ' ');
      for (char& c : content) c = static_cast<char>(random());
      if (i == 5) content.resize(50000, 'x');
      REQUIRE(receipt.store({.name = *HashName::parse(sha3(content)), .payload = content}));
    }
  });
  group[0].publish(true);
  CHECK(group.stream.size() == 3);
  group.check_equal();
  CHECK(group.stream.size() > 12);
  CHECK(group[1].value("SELECT count(*) FROM blob") == "21");
}

TEST_CASE("ticket settings change the derived tables of other hosts") {
  Group group(2);
  group[0].put(ticket_change(1, 1));
  group.settle();
  group[0].set("ticket-table", fmt::format(fmt::runtime(kTicketTable), "foo"));
  group.check_equal();
  CHECK(group[1].value("SELECT foo FROM ticket") == "value1");
}

TEST_CASE("bad entries and bad artifacts are skipped") {
  Group group(2);
  for (const std::string bad :
       {"", "nonsense\n", "from x y z\n", "from 1 - -\nconfig /config 3\nabc\n",
        "change 1\nfile abc 3\nabc", "change 2\nconfig /config 3\nabc\n",
        "change 3\nuvfile ../a 1 - 0 1\n", "change 4\npublish x\n", "change 5\nremove user x\n",
        "from 1 - -\ncfile x 4000000000 4000000000\nab", "change 6\nremove /config project-code\n",
        "change 7\nconfig /config 37\n1 'project-code' value 'xxxxxxxxxxxx'\n"}) {
    group.stream.push_back({7, bad});
  }
  std::string entry = "from 1700000000000 - -\n" + file("good");
  for (int i = 0; i < 3; ++i) entry += "file " + sha3(fmt::format("bad {}", i)) + " 3\nbad";
  entry += file("also good");
  group.stream.push_back({7, entry});
  group.stream.push_back(
      {7, "change 8\nuvfile a 1 " + sha1("x") + " 1 0\nyuvfile b 2 " + sha1("x") + " 1 0\nx"});
  group.check_equal();
  CHECK(group[1].value("SELECT count(*) FROM blob WHERE size>=0") == "3");
  CHECK(group[1].value("SELECT count(*) FROM unversioned") == "1");
  CHECK(group[1].setting("project-code") == kProjectCode);
}

TEST_CASE("the hash policy is not checked for artifacts of other hosts") {
  Group group(2);
  group[1].sql("UPDATE config SET value=4 WHERE name='hash-policy'");  // shun-sha1
  group.stream.push_back({7, fmt::format("from 1700000000000 - -\nfile {} 3\nabc", sha1("abc"))});
  group.check_equal();
  CHECK(group[1].value("SELECT count(*) FROM blob WHERE uuid='" + sha1("abc") + "'") == "1");
}

TEST_CASE("a restored backup gets its own artifacts back from the stream") {
  Group group(2);
  group[0].put("one");
  group.settle();
  const std::string rid = group[0].value("SELECT max(rid) FROM blob");
  group[0].sql("DELETE FROM blob WHERE rid=" + rid + "; DELETE FROM unclustered WHERE rid=" + rid +
               "; UPDATE fx_quarry_replica SET sequence=0");
  std::vector<IncomingEntry> entries{
      {.sequence = 1, .is_own = true, .host = group[0].name(), .content = group.stream[0].content}};
  REQUIRE(group[0].replication().apply(entries, {.created = 1, .sequence = 1}).has_value());
  group.check_equal();
  CHECK(group[0].value("SELECT count(*) FROM blob") == "2");
}

TEST_CASE("only the host that has received an artifact from a client reports it") {
  Group group(3);
  for (const auto& host : group.hosts) host->begin_reports();
  const std::string ticket = ticket_change(1, 1);
  group[0].put(ticket);
  group[0].put("secret", true);
  // This artifact waits for content that another host receives.
  group[1].put_delta(ticket_change(1, 2), ticket);
  group.settle();
  using Reports = std::map<std::string, std::string>;
  CHECK(group[0].reports() == Reports{{sha3(ticket), "hem"}, {sha3("secret"), "h"}});
  CHECK(group[1].reports() == Reports{{sha3(ticket_change(1, 2)), "hem"}});
  CHECK(group[2].reports().empty());
  // Long afterwards, another host makes the artifact public.
  for (int number = 0; number < 150; ++number) group[1].put(lines(number, 1));
  group.settle();
  group[2].make_public("secret");
  group.settle();
  CHECK(group[0].reports() == Reports{{sha3("secret"), "e"}});
  CHECK(group[1].reports().size() == 150);
  CHECK(group[2].reports().empty());
}

TEST_CASE("one host sends the daily digest of the artifacts of all, and the others record it") {
  Group group(3);
  for (const auto& host : group.hosts) host->begin_reports();
  group[0].put(ticket_change(1, 1));
  group[1].put(ticket_change(1, 2));
  group.settle();
  group[2].put(ticket_change(1, 3));
  const auto pending = [](Host& host) {
    return host.value("SELECT count(*) FROM pending_alert WHERE NOT sentDigest");
  };
  CHECK(pending(group[0]) == "2");
  group[2].receive([&](Receipt&) {
    ReplicaTables tables(group[2].repository());
    Alerts alerts(group[2].repository());
    auto digest = alerts.pending(AlertTiming::kDigest, 100);
    REQUIRE(digest.has_value());
    std::erase_if(*digest, [&](const auto& each) {
      return !tables.is_published(each.reference->rid).value();
    });
    REQUIRE(digest->size() == 2);
    REQUIRE(tables.queue_digested({digest->at(0).reference->rid, digest->at(1).reference->rid}));
    REQUIRE(alerts.mark_sent(AlertTiming::kDigest, *digest));
  });
  group.settle();
  for (const auto& host : group.hosts) CHECK(pending(*host) == "1");
  // The mail of each event is still sent by the host that has received it.
  const std::map<std::string, std::string> own{{sha3(ticket_change(1, 1)), "hem"}};
  CHECK(group[0].reports() == own);
}

TEST_CASE("a copy from another host keeps what waits for the daily digest") {
  Group group(2);
  group[1].begin_reports();
  group[1].put(ticket_change(1, 1));
  group[1].publish();
  CHECK(group[1].replication().prepare({}, "other") == false);
  CHECK(group[1].value("SELECT sentSep || sentDigest FROM pending_alert") == "10");
}

TEST_CASE("hosts share what decides about notices of subscriptions that expire") {
  Group group(2);
  for (const auto& host : group.hosts) {
    host->sql(
        "CREATE TABLE subscriber(subscriberId INTEGER PRIMARY KEY,"
        " subscriberCode BLOB DEFAULT (randomblob(32)) UNIQUE, semail TEXT UNIQUE, suname TEXT,"
        " sverified BOOLEAN DEFAULT true, sdonotcall BOOLEAN, sdigest BOOLEAN, ssub TEXT,"
        " sctime INTDATE, mtime INTDATE, smip TEXT)");
  }
  group[0].sql(
      "ALTER TABLE subscriber ADD COLUMN lastContact INT;"
      "INSERT INTO subscriber(semail,mtime,lastContact) VALUES('ann@example.net',1,20000);"
      "INSERT INTO config(name,value,mtime) VALUES('email-renew-warning','20001',1)");
  group.settle();
  const std::string row = "SELECT hex(subscriberCode), lastContact FROM subscriber";
  CHECK(group[1].value(row) == group[0].value(row));
  CHECK(group[1].setting("email-renew-warning") == "20001");
  // Clients neither get them nor change them.
  const std::string setting = "9 'email-renew-warning' value '1'";
  group[0].say_as("s", fmt::format("config /config {}\n{}\n", setting.size(), setting));
  CHECK(group[0].setting("email-renew-warning") == "20001");
  const std::string subscribers = group[0].say_as("s", "reqconfig /subscriber\n");
  CHECK(subscribers.contains("ann@example.net"));
  CHECK_FALSE(subscribers.contains("lastContact"));
}

TEST_CASE("what waits in a copy from another host is not reported") {
  Group group(2);
  for (Host* const host : {&group[0], &group[1]}) {
    host->begin_reports();
    CHECK(host->changes_of_users().empty());
    host->put("secret", true);
    host->put(ticket_change(1, 1));
    host->sql("UPDATE user SET cap='hgio' WHERE login='g'");
    host->publish();
  }
  group[1].put("not published");
  CHECK(group[0].replication().prepare({}, group[0].name(), kNever) == false);
  CHECK(group[1].replication().prepare({}, "other", kNever) == false);
  CHECK(group[0].reports().size() == 2);
  CHECK(group[0].changes_of_users().size() == 1);
  CHECK(group[1].reports().empty());
  group[1].make_public("secret");
  CHECK(group[1].reports().empty());
  // What the first host might not have published is published.
  CHECK(group[1].replication().outgoing(10)->size() == 1);
  // It reports what it receives.
  group[1].put("one");
  CHECK(group[1].reports().size() == 1);
}

TEST_CASE("a changed user is reported by the host on which it was changed") {
  Group group(2);
  group.settle();
  for (const auto& host : group.hosts) CHECK(host->changes_of_users().empty());
  group[0].sql(
      "UPDATE user SET cap='hgio' WHERE login='g'; DELETE FROM user WHERE login='v';"
      "INSERT INTO user(login,cap) VALUES('new','h')");
  group[1].sql("UPDATE user SET cap='oh' WHERE login='o'");
  group.settle();
  CHECK(group[0].changes_of_users() == std::vector<std::string>{"g hgio", "new h", "v "});
  CHECK(group[1].changes_of_users() == std::vector<std::string>{"o oh"});
  // Both hosts have changed the same user, and only one of them has reported it.
  group[0].sql("UPDATE user SET cap='first' WHERE login='g'");
  group[1].sql("UPDATE user SET cap='second' WHERE login='g'");
  CHECK(group[0].changes_of_users() == std::vector<std::string>{"g first"});
  group.settle();
  CHECK(group[0].changes_of_users().empty());
  CHECK(group[1].changes_of_users() == std::vector<std::string>{"g second"});
}

TEST_CASE("rows are compared only after another process has written") {
  CountedWork work;
  Group group(2);
  group[0].set("project-name", "new");
  group.settle();
  const auto steps = [&] {
    work.take();
    REQUIRE(group[0].replication().find_changes().has_value());
    return work.take();
  };
  CHECK(steps() < 100);
  // Neither publishing nor applying makes another comparison necessary.
  group[1].put("one");
  group[1].set("project-name", "newer");
  group[1].publish();
  group[0].apply();
  group[0].publish();
  CHECK(steps() < 100);
  group[0].put("two");
  CHECK(steps() > 1000);
  CHECK(steps() < 100);
}

namespace {

/// Changes hosts at random.
class RandomChanges {
 public:
  RandomChanges(Group& group, unsigned seed) : group_(group), random_(seed) {}

  void step() {
    Host& host = group_[below(group_.hosts.size())];
    switch (below(5)) {
      case 0:
      case 1:
        change(host);
        break;
      case 4:
        if (below(4) == 0) host.restart();
        if (below(4) == 0 && !group_.stream.empty()) {
          const Published late = group_.stream[below(group_.stream.size())];
          group_.stream.push_back(late);
        }
        break;
      case 2:
        host.publish(below(4) == 0);
        break;
      default:
        host.repeat_entries(below(2) == 0);
        if (below(3) == 0) fail_to_apply(host);
        host.apply(1 + below(4));
    }
  }
  int failures() const { return failures_; }

 private:
  std::size_t below(std::size_t limit) { return random_() % limit; }

  std::string pick(const std::vector<std::string>& from) {
    return from.empty() ? "nothing" : from[below(from.size())];
  }

  void change(Host& host) {
    const int number = ++number_;
    switch (below(12)) {
      case 0:
        plain_.push_back(lines(number, 30));
        return host.put(plain_.back());
      case 1: {
        const std::string source = pick(plain_);
        plain_.push_back(source + lines(number, 2));
        return host.put_delta(plain_.back(), source);
      }
      case 2:
        hidden_.push_back(lines(number, 5));
        return host.put(hidden_.back(), true);
      case 3:
        return host.make_public(pick(hidden_));
      case 4:
        return host.set(below(2) == 0 ? "project-name" : "ignore-glob",
                        fmt::format("value {}", below(3)));
      case 5:
        return host.sql(fmt::format("DELETE FROM config WHERE name='{}'",
                                    below(2) == 0 ? "project-name" : "walias:/a"));
      case 6:
        host.clock().passed = static_cast<std::int64_t>(below(100)) * 1000;
        return host.set("walias:/a", fmt::format("/wiki{}", number));
      case 7:
        return host.put_file(fmt::format("f{}", below(3)), below(4) == 0 ? "" : lines(number, 20),
                             static_cast<std::int64_t>(below(10)));
      case 8:
        return host.sql(
            fmt::format("DELETE FROM user WHERE login='user{0}';"
                        "INSERT INTO user(login,pw,cap) SELECT 'user{0}','{1}','o'"
                        " WHERE {2}",
                        below(3), number, below(3) > 0 ? "true" : "false"));
      case 9:
        return host.sql(fmt::format("UPDATE user SET cap='{}', mtime={} WHERE login='g'",
                                    below(2) == 0 ? "g" : "go", below(100)));
      case 10: {
        const std::string name = sha3(pick(plain_));
        return host.sql(below(2) == 0
                            ? "INSERT OR IGNORE INTO shun(uuid,mtime) VALUES('" + name + "',1)"
                            : "DELETE FROM shun");
      }
      default:
        if (below(3) > 0) return host.put(ticket_change(static_cast<int>(below(3)), number));
        return host.set("ticket-table",
                        fmt::format(fmt::runtime(kTicketTable), below(2) == 0 ? "foo" : "title"));
    }
  }

  /// Makes the transaction fail at a random place.
  void fail_to_apply(Host& host) {
    constexpr std::array kPlaces{"INSERT ON blob",
                                 "INSERT ON rcvfrom",
                                 "UPDATE ON user",
                                 "INSERT ON fx_quarry_replica_received",
                                 "UPDATE ON config",
                                 "INSERT ON fx_quarry_replica_row",
                                 "DELETE ON shun",
                                 "UPDATE ON fx_quarry_replica",
                                 "DELETE ON fx_quarry_replica_out"};
    host.sql(fmt::format("CREATE TRIGGER broken BEFORE {} BEGIN SELECT RAISE(ABORT,'broken'); END",
                         kPlaces[below(kPlaces.size())]));
    static_cast<void>(host.replication().find_changes());
    if (const auto entries = host.replication().outgoing(2)) {
      for (const OutgoingEntry& entry : *entries) host.send(entry);
      static_cast<void>(host.replication().published(*entries));
    }
    const std::string before = host.dump();
    if (!host.try_apply(1 + below(4))) {
      ++failures_;
      CHECK(host.dump() == before);
    }
    host.sql("DROP TRIGGER broken");
  }

  Group& group_;
  std::mt19937 random_;
  int number_ = 0;
  int failures_ = 0;
  std::vector<std::string> plain_;
  std::vector<std::string> hidden_;
};

}  // namespace

TEST_CASE("hosts become equal, whatever the order of changes, entries and failures") {
  int failures = 0;
  for (const unsigned seed : std::views::iota(1U, 7U)) {
    CAPTURE(seed);
    Group group(2 + static_cast<int>(seed % 2));
    RandomChanges changes(group, seed);
    for (int step = 0; step < 150; ++step) changes.step();
    failures += changes.failures();
    group.check_equal();
  }
  CHECK(failures > 0);
}
