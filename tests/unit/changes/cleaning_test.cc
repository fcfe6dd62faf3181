#include <doctest/doctest.h>

#include <algorithm>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "daemon_world.h"
#include "memory_file_system.h"
#include "quarry/changes/change_log.h"

using namespace quarry::changes;
using quarry::base::FileUse;

namespace {

const std::filesystem::path kCleaningBase = "/q.changes";
constexpr std::int64_t kNow = 1'700'000'000'000;
constexpr std::int64_t kDay = 24 * 3'600'000;

struct Old {
  std::uint64_t number;
  Stage stage = Stage::kDone;
  int days = 100;
  std::vector<std::uint64_t> dependencies = {};
  MoveType type = MoveType::kDevelopment;
};

void write(MemoryFileSystem& files, const std::filesystem::path& path, std::string_view text) {
  auto file = files.open(path, FileUse::kOpenOrMake);
  REQUIRE(file);
  REQUIRE((*file)->append(text));
}

struct CleaningMachine {
  explicit CleaningMachine(const MemoryFileSystem::Image& image = {})
      : files("/", image), world(files, kCleaningBase), queueing(world.context()) {
    REQUIRE(world.directories.recover(world.clock.now()));
    REQUIRE(queueing.begin());
  }

  void add(const Old& past) {
    Job job;
    job.name = name_of(past.number, past.type);
    job.meta.type = past.type;
    if (past.type != MoveType::kRollback) {
      job.meta.target = "trunk";
      job.meta.files = {"f" + std::to_string(past.number)};
    }
    for (const std::uint64_t one : past.dependencies) {
      job.meta.dependencies.push_back(id_of(one));
    }
    job.submitter = "ann";
    job.add_history({kNow - past.days * kDay}, past.stage, "so it was");
    write(files, world.directories.file_of(past.stage, job.name), job.text());
    const auto tarball = world.directories.tarball_of(job.name);
    write(files, tarball, "a tarball");
    write(files, tarball.string() + ".submission", "submitter ann\n");
    REQUIRE(ChangeLog(world.directories).begin(job));
    REQUIRE(ChangeLog(world.directories).note(job));
  }
  void turn(Scan scan = Scan::kNew) {
    world.clock.advance(100);
    REQUIRE(queueing.run(scan));
  }
  /// Advances the clock by a day and runs a complete cleaning pass.
  void pass() {
    world.clock.advance(kDay);
    turn(Scan::kAll);
    for (int i = 0; i < 1'000 && queueing.next_time(); ++i) turn();
    REQUIRE_FALSE(queueing.next_time());
  }
  std::set<std::uint64_t> left() const {
    std::set<std::uint64_t> numbers;
    for (std::size_t i = 0; i < kStages; ++i) {
      const auto names = world.directories.list(static_cast<Stage>(i));
      REQUIRE(names);
      for (const ChangeSetName& name : *names) numbers.insert(number_of(name.id));
    }
    return numbers;
  }
  /// Returns three sets: the jobs with a tarball, the jobs with a submission record, and the jobs
  /// with a log.
  std::vector<std::set<std::uint64_t>> leavings() const {
    std::vector<std::set<std::uint64_t>> all(3);
    for (const auto& [path, content] : files.image()) {
      const std::filesystem::path at(path);
      const auto id = ChangeSetId::parse(at.filename().string().substr(0, 16));
      if (!id) continue;
      const std::string folder = at.parent_path().filename().string();
      if (folder == "log") all[2].insert(number_of(*id));
      if (folder == "data") all[path.ends_with(".submission") ? 1 : 0].insert(number_of(*id));
    }
    return all;
  }

  MemoryFileSystem files;
  DaemonWorld world;
  Queueing queueing;
};

using Numbers = std::set<std::uint64_t>;

}  // namespace

TEST_CASE("old finished jobs are deleted with all their files, however they ended") {
  CleaningMachine machine;
  for (std::uint64_t i = 0; i < 4; ++i) {
    const auto stage = static_cast<Stage>(static_cast<std::size_t>(Stage::kDone) + i);
    machine.add({.number = i + 1, .stage = stage});
    machine.add({.number = i + 11, .stage = stage, .days = 80});
  }
  machine.pass();
  const Numbers recent = {11, 12, 13, 14};
  CHECK(machine.left() == recent);
  CHECK(machine.leavings() == std::vector{recent, recent, recent});
  machine.world.clock.advance(20 * kDay);
  machine.pass();
  CHECK(machine.left().empty());
  CHECK(machine.leavings() == std::vector<Numbers>(3));
}

TEST_CASE("with keep 0 nothing is deleted") {
  CleaningMachine machine;
  machine.world.options.rules.keep = {};
  machine.add({.number = 1, .days = 10'000});
  machine.turn(Scan::kAll);
  CHECK_FALSE(machine.queueing.next_time());
  CHECK(machine.left() == Numbers{1});
}

TEST_CASE("unfinished jobs stay, however old, and so do their dependencies") {
  CleaningMachine machine;
  machine.add({.number = 1});
  machine.add({.number = 2, .dependencies = {1}});
  machine.add({.number = 3});
  machine.add({.number = 4, .stage = Stage::kStaging, .dependencies = {2}});
  {
    auto lock = machine.world.directories.lock_job(Stage::kStaging, name_of(4));
    REQUIRE(lock);
    lock->job.held = "bob";
    REQUIRE(lock->update());
  }
  machine.pass();
  CHECK(machine.left() == Numbers{1, 2, 4});
  REQUIRE(machine.files.remove(machine.world.directories.file_of(Stage::kStaging, name_of(4))));
  machine.pass();
  CHECK(machine.left().empty());
  machine.pass();
  CHECK(machine.leavings()[2].empty());
}

TEST_CASE("nothing is deleted while an unchecked submission may depend on it") {
  CleaningMachine machine;
  machine.add({.number = 1});
  const auto unseen = machine.world.directories.file_of(Stage::kPrequeue, name_of(2));
  write(machine.files, unseen, "");
  REQUIRE(machine.files.open(unseen, FileUse::kOpenOrMake));
  machine.pass();
  CHECK(machine.left() == Numbers{1, 2});
  REQUIRE(machine.files.remove(unseen));
  machine.pass();
  CHECK(machine.left().empty());
}

TEST_CASE("nothing is deleted during a rollback") {
  CleaningMachine machine;
  machine.add({.number = 1});
  machine.add({.number = 2, .stage = Stage::kAbandon});
  machine.add({.number = 3,
               .stage = Stage::kRun,
               .days = 95,
               .dependencies = {1},
               .type = MoveType::kRollback});
  machine.pass();
  CHECK(machine.left() == Numbers{1, 2, 3});
}

TEST_CASE(
    "the change sets that a waiting rollback names stay, and so do those that landed on them") {
  CleaningMachine machine;
  machine.add({.number = 1});
  machine.add({.number = 2, .dependencies = {1}});
  machine.add({.number = 3});
  machine.world.options.rules.needs_approval[0] = true;
  machine.add({.number = 4,
               .stage = Stage::kStaging,
               .days = 95,
               .dependencies = {1},
               .type = MoveType::kRollback});
  machine.pass();
  CHECK(machine.left() == Numbers{1, 2, 4});
}

TEST_CASE("jobs stopped by a rollback stay while the rollback is held") {
  CleaningMachine machine;
  machine.add({.number = 1});
  machine.add({.number = 2, .stage = Stage::kAbandon, .dependencies = {3}});
  machine.add({.number = 3});
  machine.add({.number = 5});
  machine.add({.number = 4,
               .stage = Stage::kStaging,
               .days = 95,
               .dependencies = {1},
               .type = MoveType::kRollback});
  {
    auto lock =
        machine.world.directories.lock_job(Stage::kStaging, name_of(4, MoveType::kRollback));
    REQUIRE(lock);
    lock->job.held = "bob";
    lock->job.closure = {id_of(1), id_of(2)};
    REQUIRE(lock->update());
  }
  machine.pass();
  CHECK(machine.left() == Numbers{1, 2, 3, 4});
}

TEST_CASE("locked jobs stay, and so do files that are not job files") {
  CleaningMachine machine;
  machine.add({.number = 1, .stage = Stage::kFail});
  write(machine.files, machine.world.directories.file_of(Stage::kFail, name_of(2)), "nonsense");
  {
    const auto lock = machine.world.directories.lock_job(Stage::kFail, name_of(1));
    REQUIRE(lock);
    machine.pass();
    CHECK(machine.left() == Numbers{1, 2});
  }
  machine.pass();
  CHECK(machine.left() == Numbers{2});
}

TEST_CASE("logs without a job are deleted unless other jobs need them") {
  CleaningMachine machine;
  machine.add({.number = 1, .stage = Stage::kFail, .days = 1, .dependencies = {77}});
  write(machine.files, machine.world.directories.log_of(id_of(78)),
        "name " + name_of(78).text() + "\n");
  machine.pass();
  CHECK(machine.leavings()[2] == Numbers{1, 77});
  machine.world.clock.advance(100 * kDay);
  machine.pass();
  machine.pass();
  CHECK(machine.leavings()[2].empty());
}

TEST_CASE("one turn deletes a few jobs, and new ones are not delayed") {
  CleaningMachine machine;
  for (std::uint64_t i = 1; i <= 1'500; ++i) machine.add({.number = i});
  machine.world.clock.advance(kDay);
  machine.turn(Scan::kAll);
  std::size_t before = machine.left().size();
  machine.add({.number = 9'000, .stage = Stage::kQueue, .days = 0});
  int turns = 0;
  for (; machine.queueing.next_time(); ++turns) {
    const std::size_t operations = machine.files.operations().size();
    machine.turn();
    if (turns == 0) CHECK(machine.world.stage_of(9'000) == Stage::kPending);
    const std::size_t now = machine.left().size() - 1;
    REQUIRE(before - now <= 200);
    // The limit allows for four files per deleted job, and for a few sync calls.
    REQUIRE(machine.files.operations().size() - operations <= 900);
    before = now;
  }
  CHECK(turns >= 1'500 / 200);
  CHECK(machine.left() == Numbers{9'000});
}

TEST_CASE(
    "after a stop at any time each job is complete or gone, and none is deleted before those that "
    "it landed on") {
  CleaningMachine machine;
  machine.add({.number = 1});
  machine.add({.number = 2, .dependencies = {1}});
  machine.add({.number = 3, .stage = Stage::kFail});
  machine.add({.number = 4, .stage = Stage::kAbandon});
  machine.add({.number = 5, .days = 10});
  machine.add({.number = 6, .days = 99});
  machine.add({.number = 7, .stage = Stage::kStaging, .days = 99, .dependencies = {6}});
  machine.world.options.rules.needs_approval.fill(true);
  const auto start = machine.files.image();
  CleaningMachine other(start);
  other.world.options.rules.needs_approval.fill(true);
  other.pass();
  const auto operations = other.files.operations();
  const Numbers kept = {5, 6, 7};
  REQUIRE(other.left() == kept);
  MESSAGE(operations.size(), " operations");

  std::mt19937 random(5);
  for (std::size_t count = 0; count <= operations.size(); ++count) {
    for (int way = 0; way < 12; ++way) {
      CAPTURE(count);
      CAPTURE(way);
      const auto keeps = [&](std::size_t) { return way == 0 || (way > 1 && random() % 2 == 0); };
      CleaningMachine after(MemoryFileSystem::after_a_stop(start, operations, count, keeps));
      after.world.options.rules.needs_approval.fill(true);
      const Numbers left = after.left();
      REQUIRE(std::ranges::includes(left, kept));
      REQUIRE((left.contains(2) || !left.contains(1)));
      const auto leavings = after.leavings();
      for (const Numbers& each : leavings) REQUIRE(std::ranges::includes(each, left));
      after.pass();
      REQUIRE(after.left() == kept);
      // At startup the prequeue daemon removes tarballs that do not belong to a job.
      REQUIRE(after.world.directories.recover(after.world.clock.now()));
      after.pass();
      REQUIRE(after.leavings() == std::vector{kept, kept, kept});
    }
  }
}
