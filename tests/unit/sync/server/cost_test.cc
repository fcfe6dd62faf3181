// Tests the cost of requests. The cost must not depend on the size of the repository or on SQLite's
// statistics. The cost must be proportional to the number of items in the request.

#include <doctest/doctest.h>
#include <fmt/core.h>

#include <algorithm>
#include <cstdlib>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "quarry/artifact/digest.h"
#include "work.h"
#include "world.h"

using namespace quarry::sync;

namespace {

/// Returns $QUARRY_TEST_ARTIFACTS (default: 10000).
int largest_size() {
  const char* const wanted = std::getenv("QUARRY_TEST_ARTIFACTS");
  return wanted != nullptr ? std::atoi(wanted) : 10000;
}

// Maximum factor by which a larger repository or request can increase the cost per item.
constexpr double kMaxGrowth = 1.5;
// Maximum factor by which statistics can increase the cost.
constexpr double kMaxByStatistics = 2.5;

// Statistics that describe each table as having one row. `fossil new` of version 2.29 stores them
// and never updates them.
const std::string kOldStatistics =
    "BEGIN; DROP TABLE IF EXISTS sqlite_stat1; ANALYZE; DELETE FROM sqlite_stat1;"
    "INSERT INTO sqlite_stat1 SELECT t.name, i.name, '1'||(SELECT group_concat(' 1','')"
    "  FROM pragma_index_info(i.name)) FROM sqlite_schema AS t"
    "  JOIN pragma_index_list(t.name) AS i WHERE t.type='table';"
    "INSERT INTO sqlite_stat1 SELECT name, NULL, '1' FROM sqlite_schema WHERE type='table'"
    "  AND name NOT IN (SELECT tbl FROM sqlite_stat1) AND name NOT LIKE 'sqlite_%'; COMMIT";

const std::vector<std::pair<std::string, std::string>> kStatistics = {
    {"none", "DROP TABLE IF EXISTS sqlite_stat1"},
    {"old", kOldStatistics},
    {"fresh", "DROP TABLE IF EXISTS sqlite_stat1; ANALYZE"},
};

std::string signed_cards(const std::string& cards) {
  return fmt::format("{}Z {}\n", cards, quarry::artifact::md5_hex(cards));
}

/// A growing repository. Its check-ins have one file each and are on three branches with merges.
class History {
 public:
  explicit History(World& world) : world_(world) {}

  /// Returns the `file` cards of COUNT check-ins, each with a changed file.
  std::string check_ins(int count) {
    std::string cards;
    for (int i = 0; i < count; ++i) {
      const std::string content = fmt::format("content {}\n", ++number_);
      files_[fmt::format("file-{:02}", number_ % 20)] = sha3(content);
      cards += file(content) + file(check_in());
    }
    return cards;
  }

  /// Adds ARTIFACTS artifacts in several pushes. A pull after each push makes clusters.
  void grow(int artifacts) {
    constexpr int kPart = 500;
    for (int i = 0; i < artifacts; i += 2 * kPart) {
      world_.say_as("i", kPushCard + check_ins(std::min(kPart, (artifacts - i) / 2)));
      world_.say_as("o", kPullCard);
    }
  }

 private:
  std::string check_in() {
    std::string cards =
        fmt::format("C check-in\\s{}\nD 20{:02}-{:02}-01T{:02}:{:02}:00.000\n", number_,
                    number_ / 17280, number_ / 1440 % 12 + 1, number_ / 60 % 24, number_ % 60);
    for (const auto& [name, hash] : files_) cards += fmt::format("F {} {}\n", name, hash);
    std::string& tip = tips_[number_ % 3];
    std::string parents = tip.empty() ? world_.initial() : tip;
    if (number_ % 30 == 0 && !tips_[1].empty()) parents += " " + tips_[1];
    cards += fmt::format("P {}\n", parents);
    if (tip.empty()) cards += fmt::format("T *branch * b{}\nT *sym-b{} *\n", number_, number_);
    cards = signed_cards(cards + "U ann\n");
    tip = sha3(cards);
    return cards;
  }

  World& world_;
  int number_ = 0;
  std::map<std::string, std::string> files_;
  std::string tips_[3];
};

class Measured {
 public:
  explicit Measured(int artifacts) : history_(world_) { history_.grow(artifacts); }

  /// Makes sure that the next pull has nothing to do, and then sets the statistics.
  void leave_nothing_new(const std::string& statistics) {
    world_.say_as("o", kPullCard);
    world_.sql(statistics);
  }

  /// Returns the cost of a sync without new artifacts, per unclustered artifact.
  double nothing_new() {
    std::string igots;
    const std::vector<std::string> names = unclustered();
    for (const std::string& name : names) igots += fmt::format("igot {}\n", name);
    const double steps = cost("i", kPullCard + kPushCard + igots);
    CHECK(reply_.empty());
    return steps / static_cast<double>(names.size() + 1);
  }
  /// Returns the cost per artifact of pulling the COUNT oldest artifacts.
  double pull(int count) {
    std::string gimmes;
    for (const auto& row : world_.values(
             fmt::format("SELECT uuid FROM blob WHERE size>=0 ORDER BY rid LIMIT {}", count))) {
      gimmes += fmt::format("gimme {}\n", row.substr(0, row.size() - 1));
    }
    const double steps = cost("o", kPullCard + gimmes);
    CHECK(count_cards(reply_, "file") == static_cast<std::size_t>(count));
    return steps / count;
  }
  double push(int count) {
    std::string files;
    for (int i = 0; i < count; ++i) files += file(fmt::format("file {}\n", ++number_));
    return cost("i", kPushCard + files) / count;
  }
  double push_check_ins(int count) {
    return cost("i", kPushCard + history_.check_ins(count)) / count;
  }
  double push_deltas_last_first(int count) {
    const auto text = [this](int i) {
      return fmt::format("{} {}\n{}", number_, i, std::string(300, 'x'));
    };
    ++number_;
    std::string cards;
    for (int i = count; i > 0; --i) cards += file_delta(text(i), text(i - 1));
    return cost("i", kPushCard + cards + file(text(0))) / count;
  }
  double push_unknown_igots(int count) {
    std::string igots;
    for (int i = 0; i < count; ++i)
      igots += fmt::format("igot {}\n", sha3(fmt::format("? {}", ++number_)));
    return cost("i", kPushCard + igots) / count;
  }
  /// Adds COUNT phantoms and returns the cost of a pull, per phantom.
  double pull_beside_phantoms(int count) {
    push_unknown_igots(count);
    const double steps = cost("o", kPullCard);
    const double phantoms = std::stod(world_.value("SELECT count(*) FROM phantom"));
    forget_phantoms();
    return steps / phantoms;
  }
  /// Pushes COUNT artifacts in a request. Returns the cost of the next request, which pushes ten
  /// files and announces ten others. The first request also announces a missing artifact, because a
  /// phantom prevents new clusters.
  double push_beside_unclustered(int count) {
    std::string cards = fmt::format("igot {}\n", sha3("missing"));
    for (int i = 0; i < count; ++i) cards += file(fmt::format("file {}\n", ++number_));
    world_.say_as("i", kVersion + kPushCard + cards);
    std::vector<std::string> names = unclustered();
    CHECK(names.size() >= static_cast<std::size_t>(count));
    cards.clear();
    for (int i = 0; i < 10; ++i) {
      cards += file(fmt::format("file {}\n", ++number_));
      cards += fmt::format("igot {}\n", names.back());
      names.pop_back();
    }
    const double steps = cost("i", kPushCard + cards);
    forget_phantoms();
    return steps;
  }
  double last_of_a_clone() {
    const double first = std::stod(world_.value("SELECT max(rid) FROM blob")) - 100;
    return cost("g", fmt::format("clone 3 {:.0f}\n", first));
  }
  double catalogue(int count) {
    world_.sql(
        "CREATE TABLE IF NOT EXISTS unversioned(uvid INTEGER PRIMARY KEY AUTOINCREMENT,"
        "name TEXT UNIQUE,rcvid INTEGER,mtime DATETIME,hash TEXT,sz INTEGER,encoding INT,"
        "content BLOB); DELETE FROM unversioned;"
        "DELETE FROM config WHERE name='uv-hash';"
        "WITH RECURSIVE n(i) AS (VALUES(1) UNION ALL SELECT i+1 FROM n WHERE i<" +
        std::to_string(count) + ") INSERT INTO unversioned(name,mtime,hash,sz) SELECT 'f'||i,i,'" +
        std::string(40, 'a') + "',3 FROM n");
    const double steps = cost("o", "pragma uv-hash " + std::string(40, '0') + "\n");
    CHECK(count_cards(reply_, "uvigot") == static_cast<std::size_t>(count));
    return steps / count;
  }
  double configuration() { return cost("s", "reqconfig /all\n"); }

 private:
  double cost(std::string_view user, const std::string& cards) {
    // Invalidates caches, as a change by another program does.
    world_.sql("UPDATE config SET mtime=mtime+1 WHERE name='project-code'");
    world_.say("");
    work_.take();
    reply_ = world_.say_as(user, kVersion + cards);
    const auto steps = static_cast<double>(work_.take());
    REQUIRE(world_.figures().error.empty());
    reply_.erase(0, kServerVersion.size());
    return steps;
  }
  void forget_phantoms() {
    world_.sql(
        "DELETE FROM unclustered WHERE rid IN (SELECT rid FROM phantom);"
        "DELETE FROM blob WHERE size<0; DELETE FROM phantom");
  }
  std::vector<std::string> unclustered() {
    std::vector<std::string> names =
        world_.values("SELECT uuid FROM unclustered JOIN blob USING(rid) WHERE size>=0");
    for (std::string& name : names) name.pop_back();
    return names;
  }

  CountedWork work_;
  World world_;
  History history_;
  std::string reply_;
  int number_ = 0;
};

/// The costs by kind of request. If a request has items, the values are the costs per item of a
/// small and a large request.
using Costs = std::map<std::string, std::vector<double>>;

Costs costs_of(Measured& m) {
  Costs costs;
  costs["nothing new, for each unclustered name"] = {m.nothing_new()};
  costs["the end of a clone"] = {m.last_of_a_clone()};
  costs["the configuration"] = {m.configuration()};
  costs["an artifact pulled"] = {m.pull(100), m.pull(1000)};
  costs["an unversioned file of the catalogue"] = {m.catalogue(50), m.catalogue(500)};
  costs["a file pushed"] = {m.push(100), m.push(1000)};
  costs["a check-in pushed"] = {m.push_check_ins(20), m.push_check_ins(200)};
  costs["a delta before its source"] = {m.push_deltas_last_first(50),
                                        m.push_deltas_last_first(500)};
  costs["an unknown igot"] = {m.push_unknown_igots(100), m.push_unknown_igots(1000)};
  costs["a pull, for each phantom"] = {m.pull_beside_phantoms(100), m.pull_beside_phantoms(1000)};
  costs["a push beside unclustered artifacts"] = {m.push_beside_unclustered(100),
                                                  m.push_beside_unclustered(2000)};
  return costs;
}

}  // namespace

TEST_CASE(
    "what a request costs depends on what it asks for, not on the repository's size or "
    "statistics") {
  std::map<std::string, Costs> by_statistics;
  for (const int size : {1000, largest_size()}) {
    Measured measured(size);
    for (const auto& [statistics, sql] : kStatistics) {
      CAPTURE(statistics);
      measured.leave_nothing_new(sql);
      const Costs costs = costs_of(measured);
      const Costs& smaller = by_statistics.try_emplace(statistics, costs).first->second;
      for (const auto& [kind, steps] : costs) {
        CAPTURE(kind);
        CHECK(steps.back() <= steps.front() * kMaxGrowth);
        CHECK(steps.front() <= smaller.at(kind).front() * kMaxGrowth);
        CHECK(steps.back() <= smaller.at(kind).back() * kMaxGrowth);
        CHECK(steps.back() <= by_statistics.at("none").at(kind).back() * kMaxByStatistics);
      }
    }
  }
}
