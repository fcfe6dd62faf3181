// Simulates a crash of the machine or of a process at each file operation of a queue. Daemons that
// start afterwards must not lose a job or land it twice.
#include <doctest/doctest.h>
#include <poll.h>
#include <sys/socket.h>

#include <map>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "daemon_world.h"
#include "memory_file_system.h"

using namespace quarry::changes;
using quarry::base::Fd;

namespace {

const std::filesystem::path kBase = "/q.changes";

/// A repository that records when each change set landed. Its content is always durable.
struct Repository {
  std::map<std::uint64_t, std::size_t> landed;       // number of operations before the landing
  std::map<std::uint64_t, std::size_t> rolled_back;  // number of operations before the rollback
  std::vector<std::uint64_t> order;

  /// Returns the state of the repository after COUNT file operations.
  Repository at(std::size_t count) const {
    Repository other;
    for (const std::uint64_t number : order) {
      if (landed.at(number) >= count) continue;
      other.landed[number] = 0;
      other.order.push_back(number);
    }
    for (const auto& [number, when] : rolled_back) {
      if (when < count) other.rolled_back[number] = 0;
    }
    return other;
  }
};

class MemoryExecutor final : public OneByOne {
 public:
  MemoryExecutor(Repository& repository, const MemoryFileSystem& files)
      : repository_(repository), files_(files) {}
  Outcome land(const Job& job, const Stop&, const Say&) override {
    const std::uint64_t number = number_of(job.name.id);
    if (job.meta.comment == "fail") return {.verdict = Verdict::kFailed, .why = "x", .landed = {}};
    if (repository_.landed.emplace(number, files_.operations().size()).second) {
      repository_.order.push_back(number);
    }
    return TextExecutor::landed(job);
  }
  Outcome roll_back(const Job&, const std::vector<Job>&, const Stop&, const Say&) override {
    return {};
  }

 private:
  Repository& repository_;
  const MemoryFileSystem& files_;
};

class NeverStop final : public Stop {
 public:
  std::optional<Verdict> wanted() const override { return std::nullopt; }
};

class FreeTurn final : public Turn {
 public:
  quarry::base::Result<void> take() override { return {}; }
  void end() override {}
  bool must_give_way() override { return false; }
};

/// Runs in the child process, and reports every rollback as done. The test itself records the
/// rolled-back change sets in its Repository.
void answer_rollbacks(Fd socket) {
  std::string received;
  char byte = 0;
  while (true) {
    pollfd poll{.fd = socket.get(), .events = POLLIN, .revents = 0};
    ::poll(&poll, 1, -1);
    const ssize_t count = ::recv(socket.get(), &byte, 1, 0);
    if (count == 0) return;
    if (count < 0 || byte != '\n') continue;
    const std::string answer = line_of({.verdict = Verdict::kLanded, .why = "back", .landed = {}});
    if (::send(socket.get(), answer.data(), answer.size(), MSG_NOSIGNAL) < 0) return;
  }
}

/// Daemons on files in memory. The test lands jobs itself instead of using child processes, so that
/// all file operations are counted.
struct Machine {
  explicit Machine(const MemoryFileSystem::Image& image = {}, Repository past = {})
      : files("/", image),
        world(files, kBase),
        repository(std::move(past)),
        executor(repository, files),
        prequeue(world.context(), world.checker),
        queueing(world.context()),
        execution(world.context(), [this](Fd socket, pid_t) {
          execution.leave_daemon();
          answer_rollbacks(std::move(socket));
        }) {
    world.report = [this](const QueueOptions&, const Job& job, Stage, Stage to) {
      if (job.name.type == MoveType::kRollback && to == Stage::kRun) rollback = job;
    };
  }

  void begin() {
    REQUIRE(prequeue.begin());
    REQUIRE(queueing.begin());
    REQUIRE(execution.begin());
  }
  /// Lands the jobs in pending/, as a child process does.
  void land() {
    const auto names = world.directories.list(Stage::kPending);
    REQUIRE(names);
    FreeTurn turn;
    std::vector<ChangeSetName> batch;
    for (const ChangeSetName& name : *names) {
      if (name.type == MoveType::kRollback) continue;
      batch.push_back(name);
      if (batch.size() < world.options.batch) continue;
      execute_all(world.directories, batch, executor, NeverStop(), turn, world.options.rules,
                  world.clock);
      batch.clear();
    }
    execute_all(world.directories, batch, executor, NeverStop(), turn, world.options.rules,
                world.clock);
    REQUIRE(world.directories.sync_folders());
  }
  /// Executes the rollback in pending/ or run/, if there is one.
  void roll_back() {
    if (world.directories.list(Stage::kPending)->empty()) return;
    rollback.reset();
    REQUIRE(execution.run(Scan::kAll));
    if (!rollback) return;
    // The repository stores the reverse check-ins before the queue records the rollback.
    for (const ChangeSetId& id : world.job_of(number_of(rollback->name.id)).closure) {
      const std::uint64_t number = number_of(id);
      if (repository.landed.contains(number))
        repository.rolled_back.emplace(number, files.operations().size());
    }
    REQUIRE(eventually([&] {
      REQUIRE(execution.run(Scan::kNew));
      return execution.is_idle();
    }));
  }
  void work() {
    for (int turn = 0; turn < 6; ++turn) {
      REQUIRE(prequeue.run(Scan::kAll));
      REQUIRE(queueing.run(Scan::kAll));
      roll_back();
      land();
    }
  }

  MemoryFileSystem files;
  DaemonWorld world;
  Repository repository;
  std::optional<Job> rollback;
  MemoryExecutor executor;
  Prequeue prequeue;
  Queueing queueing;
  Execution execution;
};

/// The file operations and results of a machine up to its crash.
struct Life {
  std::vector<FileOperation> operations;
  Repository repository;
  std::map<std::uint64_t, std::size_t> promised;  // number of operations until the job is durable
  std::size_t batch = 1;
};

/// Simulates a crash after each operation of LIFE. Starts a machine with the files that remain on
/// the disk, lets it finish, and calls JUDGE with it.
template <typename Judge>
void stop_everywhere(const Life& life, const Judge& judge) {
  std::mt19937 random(1);
  for (std::size_t count = 0; count <= life.operations.size(); ++count) {
    for (int way = 0; way < 6; ++way) {
      CAPTURE(count);
      CAPTURE(way);
      // Way 0 is a process crash, which keeps all data. The other ways are machine crashes: way 1
      // loses all unsynced data, and the others lose a random part of it.
      const auto keeps = [&](std::size_t) { return way == 0 || (way > 1 && random() % 2 == 0); };
      Machine machine(MemoryFileSystem::after_a_stop({}, life.operations, count, keeps),
                      life.repository.at(count));
      machine.world.options.batch = life.batch;
      machine.world.options.takes_lines = life.batch > 1 && way % 2 == 0;
      machine.begin();
      machine.work();
      for (const auto& [number, since] : life.promised) {
        const auto stages = machine.world.stages_of(number);
        REQUIRE(stages.size() <= 1);
        if (since > count) continue;
        REQUIRE(stages.size() == 1);
      }
      judge(machine);
    }
  }
}

/// Simulates a crash after each operation of LIFE. Afterwards, a job must fail if it is in FAILING
/// or MAY_FAIL(machine, number) is true. All other jobs must land once, in order.
template <typename MayFail>
void check_landings(const Life& life, const std::set<std::uint64_t>& failing,
                    const MayFail& may_fail) {
  stop_everywhere(life, [&](Machine& after) {
    std::vector<std::uint64_t> landed;
    for (const auto& [number, since] : life.promised) {
      const auto stages = after.world.stages_of(number);
      // The submission was not durable and is lost.
      if (stages.empty()) continue;
      const bool fails = failing.contains(number) || may_fail(after, number);
      REQUIRE(stages.front() == (fails ? Stage::kFail : Stage::kDone));
      if (!fails) landed.push_back(number);
    }
    REQUIRE(after.repository.order == landed);
  });
}

}  // namespace

TEST_CASE(
    "after a stop at any time every change set lands once, in order, or fails for its own reason") {
  Machine machine;
  Life life;
  machine.begin();
  const auto submit = [&](std::uint64_t number, std::vector<std::string> files, std::string wish,
                          std::vector<std::uint64_t> dependencies) {
    machine.world.submit(number, std::move(files), std::move(wish), std::move(dependencies));
    life.promised[number] = machine.files.operations().size();
  };
  submit(1, {"a"}, "land", {});
  submit(2, {"a", "b"}, "land", {});
  machine.work();
  submit(3, {"c"}, "fail", {});
  submit(4, {"b"}, "land", {2});
  submit(5, {"d"}, "land", {3});
  machine.work();
  life.operations = machine.files.operations();
  life.repository = machine.repository;
  REQUIRE(life.repository.order == std::vector<std::uint64_t>{1, 2, 4});
  MESSAGE(life.operations.size(), " operations");
  // Job 4 fails if its dependency was lost in the crash.
  check_landings(life, {3, 5}, [](Machine& after, std::uint64_t number) {
    return number == 4 && after.world.stages_of(2).empty();
  });
}

namespace {

/// Submits jobs that land together, except for the job FAILING, and simulates a crash after each
/// operation.
void stop_batch_everywhere(const std::vector<std::vector<std::string>>& files_of_each,
                           std::uint64_t failing, bool takes_lines) {
  Machine machine;
  Life life;
  machine.world.options.batch = life.batch = files_of_each.size();
  machine.world.options.takes_lines = takes_lines;
  machine.begin();
  std::vector<std::uint64_t> landing;
  for (std::uint64_t number = 1; number <= files_of_each.size(); ++number) {
    machine.world.submit(number, files_of_each[number - 1], number == failing ? "fail" : "land");
    life.promised[number] = machine.files.operations().size();
    if (number != failing) landing.push_back(number);
  }
  REQUIRE(machine.prequeue.run(Scan::kAll));
  REQUIRE(machine.queueing.run(Scan::kAll));
  REQUIRE(machine.world.stage_of(files_of_each.size()) == Stage::kPending);
  machine.work();
  life.operations = machine.files.operations();
  life.repository = machine.repository;
  REQUIRE(life.repository.order == landing);
  check_landings(life, {failing}, [](Machine&, std::uint64_t) { return false; });
}

}  // namespace

TEST_CASE("after a stop at any time a batch lands once, or its jobs fail for their own reasons") {
  stop_batch_everywhere({{"f1"}, {"f2"}, {"f3"}}, 2, false);
}

TEST_CASE("after a stop at any time a batch of jobs with the same files lands once, in order" *
          doctest::test_suite("long")) {
  stop_batch_everywhere({{"a"}, {"a"}, {"a"}, {"a"}}, 3, true);
}

TEST_CASE("after a stop at any time a rollback rolls back everything or nothing" *
          doctest::test_suite("long")) {
  Machine machine;
  Life life;
  machine.begin();
  machine.world.submit(1, {"a"});
  machine.world.submit(2, {"b"}, "land", {1});
  machine.work();
  Job held;
  machine.world.submit(3, {"c"}, "land", {2});
  REQUIRE(machine.prequeue.run(Scan::kNew));
  {
    auto lock = machine.world.directories.lock_job(Stage::kQueue, name_of(3));
    REQUIRE(lock);
    lock->job.held = "bob";
    REQUIRE(lock->update());
  }
  REQUIRE(machine.queueing.run(Scan::kNew));
  REQUIRE(machine.world.stage_of(3) == Stage::kStaging);
  const std::size_t begin = machine.files.operations().size();
  machine.world.submit(4, {}, "land", {1}, MoveType::kRollback);
  life.promised = {{1, begin}, {2, begin}, {3, begin}, {4, machine.files.operations().size()}};
  machine.work();
  life.operations = machine.files.operations();
  life.repository = machine.repository;
  REQUIRE(machine.world.stage_of(4) == Stage::kDone);
  REQUIRE(machine.world.stage_of(3) == Stage::kAbandon);

  stop_everywhere(life, [&](Machine& after) {
    if (after.world.stages_of(1).empty() || after.world.stages_of(2).empty() ||
        after.world.stages_of(3).empty())
      return;
    const auto stages = after.world.stages_of(4);
    if (stages.empty()) {
      REQUIRE(after.repository.rolled_back.empty());
      return;
    }
    if (stages.front() == Stage::kFail) return;  // its target had not landed yet
    REQUIRE(stages.front() == Stage::kDone);
    for (const std::uint64_t number : {1U, 2U}) {
      REQUIRE(after.world.stage_of(number) == Stage::kDone);
      REQUIRE(after.world.job_of(number).rolled_back ==
              RolledBack{.by = id_of(4), .from = Stage::kDone});
      REQUIRE(after.repository.rolled_back.contains(number));
    }
    REQUIRE(after.world.stage_of(3) == Stage::kAbandon);
    REQUIRE(after.world.job_of(3).rolled_back->by == id_of(4));
  });
}
