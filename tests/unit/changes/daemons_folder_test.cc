// Tests daemons that serve a folder of queues while queues are added and removed.
#include <doctest/doctest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "daemon_world.h"
#include "quarry/changes/triggers.h"
#include "temporary_folder.h"

using namespace quarry::changes;
using quarry::base::FileSystem;

namespace {

namespace fs = std::filesystem;

/// Lands jobs with the comment "slow" only after the file `go` exists.
class PatientExecutor final : public OneByOne {
 public:
  explicit PatientExecutor(const fs::path& folder) : go_(folder / "go"), text_(folder / "text") {}

  Outcome land(const Job& job, const Stop& stop, const Say& say) override {
    bool may_go = job.meta.comment != "slow";
    // On a slow machine, the test might create the file only after several timeouts.
    for (int times = 0; times < 20 && !may_go; ++times) {
      may_go = eventually([&] { return fs::exists(go_) || stop.wanted().has_value(); });
    }
    if (may_go) return text_.land(job, stop, say);
    return {.verdict = Verdict::kFailed, .why = "nobody lets it go", .landed = {}};
  }
  Outcome roll_back(const Job& rollback, const std::vector<Job>& landed, const Stop& stop,
                    const Say& say) override {
    return text_.roll_back(rollback, landed, stop, say);
  }

 private:
  fs::path go_;
  TextExecutor text_;
};

class FolderDaemons {
 public:
  FolderDaemons() {
    options_.scan_interval = std::chrono::minutes(10);  // the daemons only react to triggers
    options_.search_interval = std::chrono::milliseconds(10);
    options_.find_queues = [this]() -> FoundQueues {
      // Simulates searches that fail or do not find any queue.
      if (++searches_ % 5 == 0) return {.queues = {}, .is_complete = false};
      std::vector<QueueOptions> queues;
      if (searches_ % 7 == 0) return {};
      std::error_code error;
      for (const auto& entry : fs::directory_iterator(folder.path(), error)) {
        if (entry.path().extension() != ".changes") continue;
        QueueOptions queue;
        queue.base = entry.path();
        queue.patience = std::chrono::milliseconds(100);
        queues.push_back(std::move(queue));
      }
      return {.queues = std::move(queues)};
    };
    start([this] {
      return run_prequeue(options_, [](const QueueOptions&) {
        return std::make_unique<MetaChecker>(FileSystem::real());
      });
    });
    start([this] { return run_queueing(options_); });
    start([this] {
      return run_execution(options_, [this](const QueueOptions&) {
        return std::make_unique<PatientExecutor>(folder.path());
      });
    });
  }
  ~FolderDaemons() {
    for (const pid_t pid : pids_) {
      ::kill(pid, SIGTERM);
      int status = 0;
      CHECK(::waitpid(pid, &status, 0) == pid);
      CHECK(status == 0);
    }
  }
  FolderDaemons(const FolderDaemons&) = delete;
  FolderDaemons& operator=(const FolderDaemons&) = delete;

  std::unique_ptr<DaemonWorld> queue(const std::string& name) const {
    return std::make_unique<DaemonWorld>(FileSystem::real(), folder / (name + ".changes"));
  }
  static void submit(DaemonWorld& queue, std::uint64_t number, const std::string& wish = "land") {
    Meta meta;
    meta.target = "trunk";
    meta.files = {"a"};
    meta.comment = wish;
    // The daemons delete files with old dates, so the job needs the current time.
    const auto now = quarry::base::system_clock().now();
    ChangeSetName name = name_of(number, meta.type);
    name.tai = tai64n(now);
    auto file = queue.directories.begin(name);
    REQUIRE(file);
    REQUIRE((*file)->append(meta.text()));
    REQUIRE(queue.directories.submit(
        name, std::move(*file),
        {.submitter = "ann", .capabilities = "io", .address = "192.0.2.1", .time = now}));
    pull(queue.directories.control(""), Trigger::kPrequeue);
  }
  static bool comes_to(const DaemonWorld& queue, std::uint64_t number, Stage stage) {
    return eventually([&] { return queue.stage_of(number) == stage; });
  }

  TemporaryFolder folder;

 private:
  void start(const std::function<quarry::base::Result<void>()>& daemon) {
    const pid_t pid = ::fork();
    REQUIRE(pid >= 0);
    if (pid == 0) ::_exit(daemon() ? 0 : 1);
    pids_.push_back(pid);
  }

  DaemonOptions options_;
  int searches_ = 0;  // counted separately in each daemon
  std::vector<pid_t> pids_;
};

}  // namespace

TEST_CASE("a daemon that waits for a queue of another daemon stops after a signal") {
  using Clock = std::chrono::steady_clock;
  const TemporaryFolder folder;
  Directories directories(FileSystem::real(), folder / "x.changes");
  REQUIRE(directories.make());
  auto held =
      FileSystem::real().open(directories.control("queue.pid"), quarry::base::FileUse::kOpenOrMake);
  REQUIRE(held);
  REQUIRE((*held)->try_lock().value_or(false));
  const auto begin = Clock::now();
  const pid_t pid = ::fork();
  REQUIRE(pid >= 0);
  if (pid == 0) {
    sigset_t signals;
    ::sigemptyset(&signals);
    ::sigaddset(&signals, SIGTERM);
    ::sigprocmask(SIG_BLOCK, &signals, nullptr);
    ::kill(::getpid(), SIGTERM);
    DaemonOptions options;
    options.queues.emplace_back().base = directories.base();
    const auto done = run_queueing(options);
    ::_exit(!done && done.error().code == quarry::base::ErrorCode::kBusy ? 0 : 1);
  }
  int status = 0;
  CHECK(::waitpid(pid, &status, 0) == pid);
  CHECK(status == 0);
  CHECK(Clock::now() - begin < std::chrono::seconds(10));  // it does not wait for the queue
}

TEST_CASE(
    "a new queue is served, and neither running jobs nor a queue that cannot be opened matter") {
  FolderDaemons daemons;
  std::ofstream(daemons.folder / "bad.changes") << "no folder";
  const auto one = daemons.queue("one");
  FolderDaemons::submit(*one, 1, "slow");
  REQUIRE(FolderDaemons::comes_to(*one, 1, Stage::kRun));
  for (std::uint64_t number = 2; number < 5; ++number) {
    const auto other = daemons.queue("other" + std::to_string(number));
    FolderDaemons::submit(*other, number);
    REQUIRE(FolderDaemons::comes_to(*other, number, Stage::kDone));
  }
  fs::remove(daemons.folder / "bad.changes");
  const auto bad = daemons.queue("bad");
  FolderDaemons::submit(*bad, 5);
  REQUIRE(FolderDaemons::comes_to(*bad, 5, Stage::kDone));
  CHECK(one->stage_of(1) == Stage::kRun);
  std::ofstream(daemons.folder / "go").flush();
  REQUIRE(FolderDaemons::comes_to(*one, 1, Stage::kDone));
  const Job job = one->job_of(1);
  CHECK(job.crashes == 0);
  CHECK(std::ranges::count(job.history, 'X', &HistoryLine::state) == 1);
}

TEST_CASE("a queue that disappears does not delay others, and is served again when it is back") {
  FolderDaemons daemons;
  auto one = daemons.queue("one");
  const auto two = daemons.queue("two");
  FolderDaemons::submit(*one, 1, "slow");
  REQUIRE(FolderDaemons::comes_to(*one, 1, Stage::kRun));
  // The removal is retried, because the running job still creates files in the folder.
  REQUIRE(eventually([&] {
    std::error_code error;
    fs::remove_all(daemons.folder / "one.changes", error);
    return !fs::exists(daemons.folder / "one.changes");
  }));
  FolderDaemons::submit(*two, 2);
  REQUIRE(FolderDaemons::comes_to(*two, 2, Stage::kDone));
  one = daemons.queue("one");
  FolderDaemons::submit(*one, 3);
  CHECK(FolderDaemons::comes_to(*one, 3, Stage::kDone));
  FolderDaemons::submit(*two, 4);
  CHECK(FolderDaemons::comes_to(*two, 4, Stage::kDone));
}
