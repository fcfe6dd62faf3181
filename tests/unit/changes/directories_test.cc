#include "quarry/changes/directories.h"

#include <doctest/doctest.h>
#include <poll.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "quarry/base/file_system.h"
#include "quarry/changes/triggers.h"
#include "submission/world.h"
#include "watched_files.h"

using namespace quarry::changes;
using changes_test::kNow;
using changes_test::named;
using quarry::base::ErrorCode;
using quarry::base::FileSystem;
using quarry::base::UnixMillis;

namespace {

const Submission kSubmission{
    .submitter = "ann", .capabilities = "io", .address = "192.0.2.1", .time = kNow};

struct JobQueue : changes_test::Queue {
  /// Submits NAME, moves it to queue/, and returns the job's lock.
  JobLock queued(const ChangeSetName& name) {
    submit(name);
    auto lock = directories.lock_job(Stage::kPrequeue, name);
    REQUIRE(lock);
    REQUIRE(lock->is_new());
    lock->job.meta.target = "trunk";
    lock->job.meta.files = {"a"};
    REQUIRE(lock->move(Stage::kQueue, kNow, "checked"));
    return std::move(*lock);
  }
  /// Returns the names of all folders, including tmp and data, that contain a file whose name starts
  /// with NAME.
  std::vector<std::string> folders_with(const ChangeSetName& name) const {
    std::vector<std::string> found;
    for (const auto& one : std::filesystem::recursive_directory_iterator(directories.base())) {
      if (one.path().filename().string().starts_with(name.text())) {
        found.push_back(one.path().parent_path().filename().string());
      }
    }
    std::ranges::sort(found);
    return found;
  }
};

}  // namespace

TEST_CASE("a submission waits in prequeue/ as an empty file") {
  JobQueue queue;
  const auto name = named("a");
  queue.submit(name);
  CHECK(queue.folders_with(name) == std::vector<std::string>{"data", "data", "prequeue"});
  CHECK(std::filesystem::file_size(queue.directories.file_of(Stage::kPrequeue, name)) == 0);
  CHECK(queue.directories.submission_of(name) == kSubmission);
  Submission local = kSubmission;
  local.is_local = true;
  CHECK(Submission::parse(local.text()) == local);
  CHECK(queue.directories.read(Stage::kPrequeue, name).error().code == ErrorCode::kBusy);
  CHECK(queue.directories.list(Stage::kPrequeue) == std::vector{name});
}

TEST_CASE("a submission that is cancelled or fails halfway leaves nothing behind") {
  JobQueue queue;
  const auto name = named("a");
  {
    auto file = queue.directories.begin(name);
    REQUIRE(file);
    CHECK(queue.directories.begin(name).error().code == ErrorCode::kBusy);
  }
  queue.directories.give_up(name);
  CHECK(queue.folders_with(name).empty());
  auto file = queue.directories.begin(name);
  REQUIRE(file);
  std::filesystem::remove_all(queue.directories.folder(Stage::kPrequeue));
  CHECK_FALSE(queue.directories.submit(name, std::move(*file), kSubmission));
  CHECK(queue.folders_with(name).empty());
}

TEST_CASE("a submission records user, rights, address, time and the last receipt") {
  CHECK(Submission::parse(kSubmission.text()) == kSubmission);
  CHECK_FALSE(Submission::parse("submitter ann\n"));
  Submission with_receipt = kSubmission;
  with_receipt.receipt = 7;
  CHECK(Submission::parse(with_receipt.text()) == with_receipt);
  Submission odd = kSubmission;
  odd.submitter = "a\nsubmitter root";
  CHECK(Submission::parse(odd.text())->submitter == "a\\x0asubmitter root");
}

TEST_CASE("stages list their jobs in order of execution") {
  JobQueue queue;
  const auto old = named("5", MoveType::kDevelopment, {kNow.value - 1000});
  for (const auto& name : {named("4"), old, named("3", MoveType::kBugFix), named("1"),
                           named("2", MoveType::kRollback), named("6", MoveType::kEmergency)}) {
    queue.submit(name);
  }
  std::ofstream(queue.directories.folder(Stage::kPrequeue) / "README") << "no job";
  const auto names = queue.directories.list(Stage::kPrequeue);
  REQUIRE(names);
  std::string order;
  for (const auto& name : *names) order += name.id.str().front();
  CHECK(order == "263514");
}

TEST_CASE("a move writes the job's changes, and leaves it in exactly one folder") {
  JobQueue queue;
  const auto name = named("a");
  auto lock = queue.queued(name);
  CHECK(lock.stage() == Stage::kQueue);
  lock.job.meta.precursors = {named("b").id};
  REQUIRE(lock.move(Stage::kStaging, kNow, "waits for b"));
  CHECK(queue.folders_with(name) == std::vector<std::string>{"data", "data", "staging"});
  const auto job = queue.directories.read(Stage::kStaging, name);
  REQUIRE(job);
  CHECK(*job == lock.job);
  CHECK(job->history.back() == HistoryLine{.time = kNow, .state = 'S', .why = "waits for b"});
}

TEST_CASE("a job's lock is exclusive, also after it was changed and moved") {
  JobQueue queue;
  const auto name = named("a");
  {
    auto lock = queue.queued(name);
    CHECK(queue.directories.lock_job(Stage::kQueue, name).error().code == ErrorCode::kBusy);
    lock.job.held = "bob";
    REQUIRE(lock.update());
    CHECK(queue.directories.lock_job(Stage::kQueue, name).error().code == ErrorCode::kBusy);
    REQUIRE(lock.move(Stage::kStaging, kNow, ""));
    CHECK(queue.directories.lock_job(Stage::kQueue, name).error().code == ErrorCode::kNotFound);
    CHECK(queue.directories.lock_job(Stage::kStaging, name).error().code == ErrorCode::kBusy);
  }
  const auto lock = queue.directories.lock_job(Stage::kStaging, name);
  REQUIRE(lock);
  CHECK(lock->job.held == "bob");
}

TEST_CASE("recovery removes old files that were never submitted, and nothing else") {
  JobQueue queue;
  const auto lost = named("a"), writing = named("b"), kept = named("c");
  queue.submit(lost);
  queue.submit(kept);
  REQUIRE(FileSystem::real().remove(queue.directories.file_of(Stage::kPrequeue, lost)));
  REQUIRE(queue.directories.begin(writing));
  REQUIRE(queue.directories.recover({kNow.value + 1000}));
  CHECK(queue.folders_with(lost).size() == 2);
  CHECK(queue.folders_with(writing).size() == 1);
  REQUIRE(queue.directories.recover({kNow.value + 48 * 3'600'000}));
  CHECK(queue.folders_with(lost).empty());
  CHECK(queue.folders_with(writing).empty());
  CHECK(queue.folders_with(kept).size() == 3);
}

TEST_CASE("recovery keeps the tarball of a job that moves back during the recovery") {
  JobQueue queue;
  const auto name = named("a");
  REQUIRE(queue.queued(name).move(Stage::kFail, kNow, "a conflict"));
  WatchedFiles files;
  Directories watched(files, queue.directories.base());
  int moves = 0;
  files.after_list = [&](const std::filesystem::path& folder) {
    // Moves the job back to queue/ after queue/ was listed, and to fail/ after fail/ was listed.
    const bool goes_back = folder.filename() == "queue", fails = folder.filename() == "fail";
    if (!goes_back && !fails) return;
    auto lock = queue.directories.lock_job(goes_back ? Stage::kFail : Stage::kQueue, name);
    if (lock && lock->move(goes_back ? Stage::kQueue : Stage::kFail, kNow, "moves")) ++moves;
  };
  REQUIRE(watched.recover({kNow.value + 48 * 3'600'000}));
  CHECK(moves >= 2);
  CHECK(queue.folders_with(name).size() == 3);
}

TEST_CASE("of two files of a job the one with the longer history is kept") {
  JobQueue queue;
  const auto name = named("a");
  {
    auto lock = queue.queued(name);
    std::filesystem::copy_file(queue.directories.file_of(Stage::kQueue, name),
                               queue.folder / "copy");
    REQUIRE(lock.move(Stage::kPending, kNow, "goes"));
  }
  for (const Stage stage : {Stage::kQueue, Stage::kDone}) {
    std::filesystem::copy_file(queue.folder / "copy", queue.directories.file_of(stage, name));
    REQUIRE(queue.directories.recover(kNow));
    CHECK(queue.directories.find(name.id) == JobLocation{.stage = Stage::kPending, .name = name});
    CHECK(queue.folders_with(name) == std::vector<std::string>{"data", "data", "pending"});
  }
}

TEST_CASE("a trigger wakes the listener, and is not an error without one") {
  TemporaryFolder folder;
  pull(folder.path(), Trigger::kQueue);
  const auto fifo = listen(folder.path(), Trigger::kQueue);
  REQUIRE(fifo);
  pollfd poll{.fd = fifo->get(), .events = POLLIN, .revents = 0};
  CHECK(::poll(&poll, 1, 0) == 0);
  for (int i = 0; i < 100'000; ++i) pull(folder.path(), Trigger::kQueue);
  CHECK(::poll(&poll, 1, 0) == 1);
  drain(*fifo);
  CHECK(::poll(&poll, 1, 0) == 0);
  std::ofstream(folder / "exec_fifo") << "no FIFO";
  CHECK_FALSE(listen(folder.path(), Trigger::kExecution));
  pull(folder.path(), Trigger::kExecution);
  CHECK(std::filesystem::file_size(folder / "exec_fifo") == 7);
}
