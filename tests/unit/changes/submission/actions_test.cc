#include "quarry/changes/actions.h"

#include <doctest/doctest.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "quarry/changes/change_log.h"
#include "world.h"

using namespace quarry::changes;
using changes_test::kNow;
using changes_test::named;
using changes_test::Queue;
using quarry::base::ErrorCode;

namespace {

const ChangeSetName kName = named("ab01");

quarry::base::Result<Job> act_as_eve(Queue& queue, Action action, std::string text = "") {
  return act(queue.directories, kName.id, {action, "eve", std::move(text)}, kNow, {});
}

std::string error_of(const quarry::base::Result<Job>& done) {
  return done ? "" : done.error().message;
}

}  // namespace

TEST_CASE("a waiting job is held with a reason, released, and read again each time") {
  for (const Stage stage : {Stage::kQueue, Stage::kStaging, Stage::kPending}) {
    Queue queue;
    queue.put(kName, stage);
    const auto held = act_as_eve(queue, Action::kHold, "not today");
    REQUIRE(held);
    CHECK(queue.place_of(kName).stage == Stage::kQueue);
    CHECK(queue.directories.read(Stage::kQueue, kName)->held == "eve: not today");
    CHECK(queue.directories.read(Stage::kQueue, kName)->history.back().why ==
          "held by eve: not today");
    CHECK(error_of(act_as_eve(queue, Action::kHold)).find("already held") != std::string::npos);
    REQUIRE(act_as_eve(queue, Action::kRelease));
    CHECK(queue.directories.read(Stage::kQueue, kName)->held.empty());
    CHECK(act_as_eve(queue, Action::kRelease).error().code == ErrorCode::kConflict);
  }
}

TEST_CASE("a failed job is retried on its base, with its counters reset") {
  Job job;
  job.name = kName;
  job.crashes = 3;
  job.deferrals = 2;
  job.meta.target = "trunk";
  job.meta.base = std::string(64, 'b');
  job.meta.files = {"a"};
  job.meta.precursors = {named("cd").id};
  const auto outcome = decide({Action::kRetry, "eve", "monday"}, Stage::kFail, job);
  REQUIRE(outcome);
  CHECK(outcome->stage == Stage::kQueue);
  CHECK(outcome->why == "retried by eve on the same base, bbbbbbbbbb: monday");
  CHECK(job.meta.base == std::string(64, 'b'));
  CHECK(job.crashes == 0);
  CHECK(job.deferrals == 0);
  CHECK(job.meta.precursors.empty());
}

TEST_CASE("a job that failed because of its meta file is checked again") {
  Queue queue;
  queue.submit(kName);
  auto lock = queue.directories.lock_job(Stage::kPrequeue, kName);
  REQUIRE(lock);
  REQUIRE(lock->move(Stage::kFail, kNow, "not permitted"));
  lock = std::unexpected(quarry::base::Error{});
  REQUIRE(act_as_eve(queue, Action::kRetry));
  CHECK(queue.place_of(kName).stage == Stage::kPrequeue);
}

TEST_CASE("an action that is not possible in a stage names the stage") {
  for (const Action action :
       {Action::kApprove, Action::kHold, Action::kRelease, Action::kAbandon}) {
    Job job;
    job.name = kName;
    for (const Stage stage : {Stage::kDone, Stage::kFail, Stage::kTerm, Stage::kAbandon}) {
      const auto outcome = decide({action, "eve", ""}, stage, job);
      REQUIRE_FALSE(outcome);
      CHECK(outcome.error().message.find("its state is " + std::string(word_of(stage))) !=
            std::string::npos);
    }
  }
  Job job;
  job.name = kName;
  for (const Stage stage : {Stage::kQueue, Stage::kPending, Stage::kDone}) {
    CHECK_FALSE(decide({Action::kRetry, "eve", ""}, stage, job));
  }
}

TEST_CASE("running, unchecked and locked jobs are not changed") {
  Queue queue;
  queue.put(kName, Stage::kRun);
  const auto held = act_as_eve(queue, Action::kHold);
  // An error page begins with a capital letter, so a message does not begin with an id or a login.
  CHECK(error_of(held) == "change set ab01000000000000 cannot be held: it is running");
  CHECK(held.error().code == ErrorCode::kConflict);
  Queue approved;
  approved.put(kName);
  REQUIRE(act_as_eve(approved, Action::kApprove));
  REQUIRE(approved.directories.lock_job(Stage::kQueue, kName)->move(Stage::kRun, kNow, "executed"));
  const auto again = act_as_eve(approved, Action::kApprove);
  CHECK(error_of(again).find("already approved by eve") != std::string::npos);
  CHECK(again.error().code == ErrorCode::kConflict);
  Queue fresh;
  fresh.submit(kName);
  CHECK(act_as_eve(fresh, Action::kAbandon).error().code == ErrorCode::kBusy);
  CHECK(fresh.place_of(kName).stage == Stage::kPrequeue);
  Queue locked;
  locked.put(kName);
  const auto lock = locked.directories.lock_job(Stage::kQueue, kName);
  REQUIRE(lock);
  CHECK(act_as_eve(locked, Action::kHold).error().code == ErrorCode::kBusy);
  CHECK(locked.directories.read(Stage::kQueue, kName)->held.empty());
}

TEST_CASE("a running job stays in place, and its daemon is asked to stop it") {
  for (const auto& [action, file] : {std::pair(Action::kAbandon, "abandon.ab01000000000000"),
                                     std::pair(Action::kTerminate, "term.ab01000000000000")}) {
    Queue queue;
    queue.put(kName, Stage::kRun);
    const auto refused = act(queue.directories, kName.id, {action, "bob", ""}, kNow,
                             [](const Job&) { return false; });
    REQUIRE_FALSE(refused);
    CHECK(refused.error().code == ErrorCode::kDenied);
    CHECK(queue.directories.files().list(queue.directories.control(""))->empty());
    const auto asked = act_as_eve(queue, action, "not now");
    REQUIRE(asked);
    CHECK(asked->history.back().why.find("by eve: not now") != std::string::npos);
    CHECK(queue.place_of(kName).stage == Stage::kRun);
    CHECK(queue.directories.files().list(queue.directories.control("")).value() ==
          std::vector<std::string>{file});
  }
  Queue queue;
  queue.put(kName);
  CHECK(act_as_eve(queue, Action::kTerminate).error().code == ErrorCode::kConflict);
}

TEST_CASE("an action without the right to it is denied, and changes nothing") {
  Queue queue;
  queue.put(kName);
  const auto refused = act(queue.directories, kName.id, {Action::kAbandon, "bob", ""}, kNow,
                           [](const Job& job) { return job.submitter != "ann"; });
  REQUIRE_FALSE(refused);
  CHECK(refused.error().code == ErrorCode::kDenied);
  CHECK(error_of(refused) == "user bob is not allowed to abandon a change set submitted by ann");
  CHECK(queue.place_of(kName).stage == Stage::kQueue);
  CHECK(act(queue.directories, named("ff").id, {Action::kHold, "eve", ""}, kNow, {}).error().code ==
        ErrorCode::kNotFound);
}

TEST_CASE("an unambiguous prefix of an id is enough") {
  Queue queue;
  queue.put(named("ab01"));
  queue.put(named("ab02"));
  CHECK(find_one(queue.directories, "ab01")->name.id == kName.id);
  CHECK(find_one(queue.directories, "ab").error().code == ErrorCode::kLimit);
  CHECK(find_one(queue.directories, "ab").error().message.find("ab02000000000000") !=
        std::string::npos);
  CHECK(find_one(queue.directories, "c").error().code == ErrorCode::kNotFound);
  for (const char* text : {"", "../ab01", "ab01000000000000f", "x"}) {
    CHECK(find_one(queue.directories, text).error().code == ErrorCode::kInvalid);
  }
}

TEST_CASE("a full id is found with or without its log, wherever the job is") {
  Queue queue;
  queue.put(named("ab01"));
  queue.put(named("ab02"));
  const std::string whole = "ab01000000000000";
  CHECK(find_one(queue.directories, whole)->name == named("ab01"));
  const ChangeLog log(queue.directories);
  REQUIRE(log.begin(queue.directories.read(Stage::kQueue, named("ab01")).value()));
  CHECK(find_one(queue.directories, whole)->stage == Stage::kQueue);
  REQUIRE(queue.directories.lock_job(Stage::kQueue, named("ab01"))->move(Stage::kDone, kNow, ""));
  CHECK(find_one(queue.directories, whole)->stage == Stage::kDone);
  // This log only records that another change set depends on ab02.
  std::ofstream(queue.directories.log_of(named("ab02").id)) << "supports ab01000000000000\n";
  CHECK(find_one(queue.directories, "ab02000000000000")->stage == Stage::kQueue);
  // The log can still exist after the job was deleted.
  std::filesystem::remove(queue.directories.file_of(Stage::kDone, named("ab01")));
  CHECK(find_one(queue.directories, whole).error().code == ErrorCode::kNotFound);
}
