// Tests with real files. Daemons and children are killed (SIGKILL) before each of their file
// operations. In one test, the daemons run in separate processes.
#include <doctest/doctest.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <fstream>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "daemon_world.h"
#include "killing_files.h"
#include "quarry/changes/triggers.h"
#include "temporary_folder.h"

using namespace quarry::changes;
using quarry::base::ErrorCode;
using quarry::base::FileSystem;

namespace {

/// Returns the lines of the file PATH, sorted.
std::vector<std::string> lines_of_file(const std::filesystem::path& path) {
  std::ifstream in(path);
  std::vector<std::string> lines;
  for (std::string line; std::getline(in, line);) lines.push_back(line);
  std::ranges::sort(lines);
  return lines;
}

/// Runs the three daemons in the test's process, on the file system FILES. Child processes use the
/// file system that CHILD_FILES returns.
struct Daemons : DaemonWorld {
  Daemons(const TemporaryFolder& folder, FileSystem& files,
          const std::function<FileSystem&()>& child_files)
      : DaemonWorld(files, folder / "q.changes"),
        prequeue(context(), checker),
        queueing(context()),
        execution(context(), [this, &folder, child_files](quarry::base::Fd socket, pid_t daemon) {
          execution.leave_daemon();
          TextExecutor executor(folder / "repository");
          Directories own(child_files(), options.base);
          serve(std::move(socket), daemon, options, own, executor, clock, false);
        }) {}

  void work_until_done(std::uint64_t number) {
    REQUIRE(prequeue.begin());
    REQUIRE(queueing.begin());
    REQUIRE(execution.begin());
    REQUIRE(eventually([&] {
      // Ignores errors, because a job might still be locked by a child that was just killed.
      [[maybe_unused]] const bool is_done =
          prequeue.run(Scan::kAll) && queueing.run(Scan::kAll) && execution.run(Scan::kAll);
      return stage_of(number) == Stage::kDone && execution.is_idle();
    }));
  }

  Prequeue prequeue;
  Queueing queueing;
  Execution execution;
};

FileSystem& real_files() {
  return FileSystem::real();
}

std::unique_ptr<Checker> make_checker(const QueueOptions&) {
  return std::make_unique<MetaChecker>(FileSystem::real());
}
std::unique_ptr<Executor> make_executor(const QueueOptions& queue) {
  return std::make_unique<TextExecutor>(queue.base.parent_path() / "repository");
}

void submit_two(DaemonWorld& world) {
  world.submit(1, {"a"});
  world.submit(2, {"a"}, "land", {1});
}

void check_two(const TemporaryFolder& folder, const DaemonWorld& world) {
  REQUIRE(world.stage_of(1) == Stage::kDone);
  REQUIRE(world.stage_of(2) == Stage::kDone);
  REQUIRE(lines_of_file(folder / "repository") ==
          std::vector<std::string>{"land " + std::string(id_of(1).str()),
                                   "land " + std::string(id_of(2).str())});
}

/// Runs WHAT in a child process and returns its status.
int status_of(const std::function<void()>& what) {
  const pid_t pid = ::fork();
  REQUIRE(pid >= 0);
  if (pid == 0) {
    what();
    ::_exit(0);
  }
  int status = 0;
  REQUIRE(::waitpid(pid, &status, 0) == pid);
  return status;
}

}  // namespace

TEST_CASE("daemons that are killed at any operation lose nothing") {
  bool is_killed = true;
  int operations = 0;
  for (; is_killed; ++operations) {
    CAPTURE(operations);
    REQUIRE(operations < 500);
    const TemporaryFolder folder;
    DaemonWorld world(FileSystem::real(), folder / "q.changes");
    submit_two(world);
    const int status = status_of([&] {
      Fuse fuse(operations);
      KillingFiles files(fuse);
      Daemons daemons(folder, files, real_files);
      daemons.work_until_done(2);
    });
    is_killed = WIFSIGNALED(status) != 0;
    Daemons after(folder, FileSystem::real(), real_files);
    after.work_until_done(2);
    check_two(folder, after);
  }
  CHECK(operations > 20);
}

namespace {

/// Executes two jobs repeatedly and kills the first child before a different operation each time.
/// Calls CHECK when both jobs have landed. Returns the number of operations.
int kill_child_everywhere(const std::function<void(Daemons&)>& submit,
                          const std::function<void(Daemons&)>& check) {
  // Counts the children in shared memory, because only the first child is killed.
  auto* const children = static_cast<int*>(
      ::mmap(nullptr, sizeof(int), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0));
  REQUIRE(children != MAP_FAILED);
  bool is_killed = true;
  int operations = 0;
  for (; is_killed; ++operations) {
    CAPTURE(operations);
    REQUIRE(operations < 500);
    const TemporaryFolder folder;
    *children = 0;
    std::unique_ptr<Fuse> fuse;
    std::unique_ptr<KillingFiles> killing;
    Daemons daemons(folder, FileSystem::real(), [&]() -> FileSystem& {
      if (++*children > 1) return FileSystem::real();
      fuse = std::make_unique<Fuse>(operations);
      killing = std::make_unique<KillingFiles>(*fuse);
      return *killing;
    });
    submit(daemons);
    daemons.work_until_done(2);
    daemons.work_until_done(1);
    check_two(folder, daemons);
    is_killed = *children > 1;
    check(daemons);
  }
  ::munmap(children, sizeof(int));
  return operations;
}

}  // namespace

TEST_CASE("when a child is killed at any operation, its job counts as crashed and lands once") {
  const int operations = kill_child_everywhere(submit_two, [](Daemons& daemons) {
    CHECK(daemons.job_of(1).crashes + daemons.job_of(2).crashes <= 1);
  });
  CHECK(operations > 10);
}

TEST_CASE("when a child is killed with several jobs, none of them fails, and each lands once") {
  const int operations = kill_child_everywhere(
      [](Daemons& daemons) {
        daemons.options.batch = 2;
        daemons.submit(1, {"a"});
        daemons.submit(2, {"b"});
      },
      [](Daemons& daemons) { CHECK(daemons.job_of(1).crashes + daemons.job_of(2).crashes <= 2); });
  CHECK(operations > 20);
}

TEST_CASE("the daemons wake each other, exclude a second instance, and end on a signal") {
  const TemporaryFolder folder;
  DaemonOptions options;
  for (const std::string name : {"p", "q"}) {
    QueueOptions queue;
    queue.base = folder / (name + ".changes");
    options.queues.push_back(queue);
  }
  // The interval is long enough that the daemons only react to triggers.
  options.scan_interval = std::chrono::minutes(10);
  const std::vector<std::function<quarry::base::Result<void>()>> daemons = {
      [&] { return run_prequeue(options, make_checker); }, [&] { return run_queueing(options); },
      [&] { return run_execution(options, make_executor); }};
  DaemonWorld world(FileSystem::real(), folder / "q.changes");
  world.submit(1, {"a"});
  std::vector<pid_t> pids;
  for (const auto& daemon : daemons) {
    const pid_t pid = ::fork();
    REQUIRE(pid >= 0);
    if (pid == 0) ::_exit(daemon() ? 0 : 1);
    pids.push_back(pid);
  }
  REQUIRE(eventually([&] { return world.stage_of(1) == Stage::kDone; }));
  for (std::uint64_t number = 2; number <= 4; ++number) {
    world.submit(number, {"a"});
    pull(world.directories.control(""), Trigger::kPrequeue);
    REQUIRE(eventually([&] { return world.stage_of(number) == Stage::kDone; }));
  }
  for (const auto& daemon : daemons) CHECK(daemon().error().code == ErrorCode::kBusy);
  for (const pid_t pid : pids) {
    ::kill(pid, SIGTERM);
    int status = 0;
    REQUIRE(::waitpid(pid, &status, 0) == pid);
    CHECK(status == 0);
  }
  for (const char* file : {"prequeue.pid", "queue.pid", "exec.pid"}) {
    CHECK_FALSE(std::filesystem::exists(world.directories.control(file)));
  }
}

TEST_CASE("with is_once each daemon does the pending work, and ends") {
  const TemporaryFolder folder;
  DaemonOptions options;
  options.is_once = true;
  QueueOptions queue;
  queue.base = folder / "q.changes";
  options.queues.push_back(queue);
  DaemonWorld world(FileSystem::real(), queue.base);
  world.submit(1, {"a"});
  world.submit(2, {"b"});
  const auto runs = [](const std::function<quarry::base::Result<void>()>& daemon) {
    return WEXITSTATUS(status_of([&] { ::_exit(daemon() ? 0 : 1); })) == 0;
  };
  CHECK(runs([&] { return run_prequeue(options, make_checker); }));
  CHECK(world.stage_of(1) == Stage::kQueue);
  CHECK(runs([&] { return run_queueing(options); }));
  CHECK(world.stage_of(1) == Stage::kPending);
  CHECK(runs([&] { return run_execution(options, make_executor); }));
  CHECK(world.stage_of(1) == Stage::kDone);
  CHECK(world.stage_of(2) == Stage::kDone);
}
