#include "world.h"

#include <doctest/doctest.h>
#include <fmt/core.h>
#include <sqlite3.h>
#include <stdlib.h>

#include <algorithm>
#include <fstream>
#include <sstream>

#include "derived/derived_rows.h"
#include "quarry/artifact/delta.h"
#include "store/wal_guard_vfs.h"

namespace quarry::repository::test {

using artifact::HashName;

World::World() {
  const auto made =
      init(file(), {.project_name = "test", .user = "ann", .password = "secret", .clock = &clock});
  if (!made) throw std::runtime_error(made.error().message);
  reopen();
}

void World::reopen(OpenOptions options) {
  repository.reset();
  options.clock = &clock;
  auto opened = Repository::open(file(), options);
  if (!opened) throw std::runtime_error(opened.error().message);
  repository = std::move(*opened);
}

HashName World::root() const {
  return *HashName::parse(sql("SELECT uuid FROM blob WHERE rid=1"));
}

HashName World::put(std::string_view content) {
  receive([&](Receipt& receipt) {
    if (const auto stored = receipt.store(whole(content)); !stored) {
      throw std::runtime_error(stored.error().message);
    }
  });
  return name_of(content);
}

void World::put_all(const std::vector<std::string>& contents) {
  for (const std::string& content : contents) put(content);
}

void World::put_delta(std::string_view target, std::string_view source, std::string bytes) {
  if (bytes.empty()) bytes = artifact::delta_create(source, target);
  receive([&](Receipt& receipt) {
    REQUIRE(receipt.store(delta(name_of(target), name_of(source), bytes)));
  });
}

HashName World::put_private(std::string_view content) {
  receive([&](Receipt& receipt) { REQUIRE(receipt.store(private_one(content))); });
  return name_of(content);
}

std::string World::sql(const std::string& sql) const {
  sqlite3* database = nullptr;
  sqlite3_open_v2(file().c_str(), &database, SQLITE_OPEN_READWRITE, wal_guard_vfs());
  sqlite3_busy_timeout(database, 5000);
  sqlite3_stmt* statement = nullptr;
  std::string text;
  if (sqlite3_prepare_v2(database, sql.c_str(), -1, &statement, nullptr) != SQLITE_OK) {
    text = sqlite3_errmsg(database);
  } else if (sqlite3_step(statement) == SQLITE_ROW &&
             sqlite3_column_text(statement, 0) != nullptr) {
    text = reinterpret_cast<const char*>(sqlite3_column_text(statement, 0));
  }
  sqlite3_finalize(statement);
  sqlite3_close(database);
  return text;
}

bool World::fossil(const std::string& arguments) {
  const auto output = folder / "fossil.out";
  const std::string command = "HOME='" + (folder / "").string() + "' USER=ann fossil " + arguments +
                              " >'" + output.string() + "' 2>&1 </dev/null";
  const int status = std::system(command.c_str());
  std::ifstream file(output);
  std::stringstream text;
  text << file.rdbuf();
  fossil_output = text.str();
  return status == 0;
}

HashName name_of(std::string_view content) {
  return HashName::of(artifact::HashAlgorithm::kSha3_256, content);
}

Arrival whole(std::string_view content) {
  return {.name = name_of(content), .payload = content};
}

Arrival delta(const HashName& name, const HashName& source, std::string_view bytes) {
  return {.name = name, .payload = bytes, .delta_source = source};
}

Arrival private_one(std::string_view content) {
  Arrival arrival = whole(content);
  arrival.is_private = true;
  return arrival;
}

std::string check_in_on(const std::vector<HashName>& parents, int minute,
                        const std::vector<artifact::CheckInText::Tag>& tags,
                        std::string_view content, const std::string& user) {
  artifact::CheckInText text{.comment = fmt::format("work of minute {}", minute),
                             .date = {HeldClock().now().value + std::int64_t{60000} * minute},
                             .user = user,
                             .parents = parents,
                             .tags = tags};
  if (!content.empty()) text.files = {{"a.txt", name_of(content), 0, ""}};
  return artifact::format_check_in(text);
}

std::map<std::string, std::string> contents(const World& world) {
  auto fresh = Repository::open(world.file(), {.clock = &world.clock});
  if (!fresh) throw std::runtime_error(fresh.error().message);
  std::map<std::string, std::string> found;
  const auto snapshot = (*fresh)->snapshot();
  const Rid last = std::stoll(world.sql("SELECT max(rid) FROM blob"));
  for (Rid rid = 1; rid <= last; ++rid) {
    const auto content = (*fresh)->content(rid);
    if (!content) continue;
    found[world.sql(fmt::format("SELECT uuid FROM blob WHERE rid={}", rid))] = *content;
  }
  return found;
}

std::vector<std::string> derived_text(const std::filesystem::path& file) {
  Database database(file, Database::Mode::kReadOnly, std::chrono::seconds(5));
  std::vector<std::string> lines;
  for (const DerivedRows& each : derived_rows(database)) {
    Query rows = database.query(
        fmt::format("SELECT {} FROM ({}) AS {}", each.text, each.select_columns(), each.table));
    while (rows.step()) lines.push_back(std::string(each.table) + ": " + std::string(rows.text(0)));
  }
  std::sort(lines.begin(), lines.end());
  return lines;
}

std::string difference(const std::vector<std::string>& ours,
                       const std::vector<std::string>& fossils) {
  std::string text;
  const auto only = [&](const char* name, const auto& one, const auto& other) {
    std::vector<std::string> lines;
    std::set_difference(one.begin(), one.end(), other.begin(), other.end(),
                        std::back_inserter(lines));
    for (const std::string& line : lines) text += std::string(name) + " " + line + "\n";
  };
  only("ours", ours, fossils);
  only("fossil's", fossils, ours);
  return text;
}

namespace {

std::string faults(const std::filesystem::path& file, bool with_counts) {
  const auto verified = verify(file);
  if (!verified) return verified.error().message;
  std::string text;
  for (const std::string& fault : verified->faults) text += fault + "\n";
  if (!with_counts) return text;
  for (const auto& [where, rows] : verified->order_dependent) {
    text += fmt::format("{}: {} rows: {}\n", where.first, rows, where.second);
  }
  return text;
}

}  // namespace

std::string faults(const std::filesystem::path& file) {
  return faults(file, true);
}

std::string faults_in_any_order(const std::filesystem::path& file) {
  return faults(file, false);
}

void check_derived(World& world) {
  CHECK(faults(world.file()) == "");
  const std::string copy = (world.folder / "copy.fossil").string();
  std::filesystem::remove(copy);
  world.sql("VACUUM INTO '" + copy + "'");
  REQUIRE(world.fossil("rebuild " + copy));
  CHECK(faults_in_any_order(copy) == "");
  REQUIRE(rebuild(copy, {}, {}));
  CHECK(difference(derived_text(world.file()), derived_text(copy)) == "");
}

}  // namespace quarry::repository::test
