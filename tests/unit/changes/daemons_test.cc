#include <doctest/doctest.h>

#include <algorithm>
#include <fstream>
#include <string>
#include <vector>

#include "daemon_queue.h"
#include "quarry/changes/actions.h"
#include "quarry/changes/change_log.h"
#include "quarry/changes/daemon_notes.h"
#include "quarry/changes/explanation.h"
#include "quarry/changes/frozen.h"
#include "quarry/changes/queue_view.h"
#include "temporary_folder.h"
#include "watched_files.h"

using namespace quarry::changes;
using quarry::base::FileSystem;
using quarry::base::UnixMillis;

namespace {

std::string landing(std::uint64_t number) {
  return "land " + std::string(id_of(number).str());
}
std::string reversal(std::uint64_t number) {
  return "back " + std::string(id_of(number).str());
}

/// Writes the file ctrl/WORD.CSID, which makes the daemon stop the running job NUMBER.
void request_stop(Queue& queue, std::string_view word, std::uint64_t number,
                  std::string_view why = "") {
  const std::string file = fmt::format("{}.{}", word, id_of(number).str());
  const auto made =
      FileSystem::real().open(queue.directories.control(file), quarry::base::FileUse::kMake);
  REQUIRE(made);
  REQUIRE((*made)->append(why));
}

/// Runs the daemons until the job NUMBER has been deferred ATTEMPTS times.
void until_deferred(Queue& queue, std::uint64_t number, std::uint32_t attempts = 1) {
  REQUIRE(eventually([&] {
    queue.turn();
    return queue.execution.is_idle() && queue.stage_of(number) == Stage::kPending &&
           queue.job_of(number).deferrals == attempts;
  }));
}

/// Returns the numbers of the jobs in the order of `quarry queue`.
std::vector<std::uint64_t> listed(const Queue& queue) {
  const auto view = view_queue(queue.directories, {});
  REQUIRE(view);
  std::vector<ChangeSetId> ids;
  for (const JobView& each : view->jobs) ids.push_back(each.job.name.id);
  return numbers_of(ids);
}

void require_approvals_of_emergencies(Queue& queue) {
  queue.options.rules.needs_approval[static_cast<std::size_t>(MoveType::kEmergency)] = true;
}

/// Stops change set 1, which occupies the only child. Then runs only the execution daemon, and not
/// the other daemons, until the job NUMBER has landed.
void until_landed_by_execution(Queue& queue, std::uint64_t number) {
  request_stop(queue, "abandon", 1);
  REQUIRE(eventually([&] {
    REQUIRE(queue.execution.run(Scan::kNew));
    return queue.stage_of(number) == Stage::kDone;
  }));
}

/// Submits change set 1, which occupies the only child, and 2 to LAST, which wait in pending/.
void occupy(Queue& queue, std::uint64_t last) {
  queue.options.children = 1;
  queue.submit(1, {"x"}, "wait");
  queue.until_waiting(1);
  for (std::uint64_t i = 2; i <= last; ++i) {
    queue.submit(i, {std::to_string(i)});
    queue.until(i, Stage::kPending);
  }
}

}  // namespace

TEST_CASE("a submission lands, and its history shows every step") {
  const TemporaryFolder folder;
  Queue queue(folder);
  queue.submit(1, {"a"});
  queue.until(1, Stage::kDone);
  CHECK(queue.lines() == Lines{landing(1)});
  const Job job = queue.job_of(1);
  CHECK(job.submitter == "ann");
  CHECK(job.landed);
  std::string states;
  for (const HistoryLine& line : job.history) states += line.state;
  CHECK(states == "QQSPXD");
  REQUIRE(eventually([&] {
    const auto record = ChangeLog(queue.directories).read(id_of(1));
    return record && record->name == job.name;
  }));
}

TEST_CASE("an emergency starts when its dependencies have landed, before other pending jobs") {
  const TemporaryFolder folder;
  Queue queue(folder);
  occupy(queue, 4);
  queue.submit(5, {"e"}, "land", {3}, MoveType::kEmergency);
  queue.submit(6, {"f"}, "land", {4, 5}, MoveType::kEmergency);
  queue.turn();
  queue.turn();
  CHECK(listed(queue) == std::vector<std::uint64_t>{1, 3, 5, 4, 6, 2});
  until_landed_by_execution(queue, 2);
  CHECK(queue.lines() == Lines{landing(3), landing(5), landing(4), landing(6), landing(2)});
}

TEST_CASE("an urgent job starts when the job ahead of it ends, before other pending jobs") {
  const TemporaryFolder folder;
  Queue queue(folder);
  occupy(queue, 2);
  queue.submit(3, {"x"}, "land", {}, MoveType::kBugFix);
  queue.submit(4, {"x"}, "land", {}, MoveType::kEmergency);
  queue.turn();
  queue.turn();
  until_landed_by_execution(queue, 2);
  CHECK(queue.lines() == Lines{landing(4), landing(3), landing(2)});
}

TEST_CASE("an emergency starts first even if many less urgent jobs are pending") {
  const TemporaryFolder folder;
  Queue queue(folder);
  constexpr std::uint64_t kMany = 70;  // more than the limit of pending/
  occupy(queue, 1);
  std::uint64_t number = 1;
  for (const MoveType type : {MoveType::kDevelopment, MoveType::kBugFix}) {
    for (std::uint64_t i = 0; i < kMany; ++i) {
      ++number;
      queue.submit(number, {std::to_string(number)}, "land", {}, type);
    }
    queue.turn();
  }
  queue.submit(++number, {"e"}, "land", {}, MoveType::kEmergency);
  queue.turn();
  until_landed_by_execution(queue, number);
  CHECK(queue.lines().front() == landing(number));
}

TEST_CASE("many urgent jobs with the same file do not keep other jobs out of pending/") {
  const TemporaryFolder folder;
  Queue queue(folder);
  constexpr std::uint64_t kMany = 70;
  for (std::uint64_t i = 1; i <= kMany; ++i) queue.submit(i, {"x"}, "wait", {}, MoveType::kBugFix);
  queue.submit(kMany + 1, {"y"});
  queue.until(kMany + 1, Stage::kDone);
  CHECK(queue.stage_of(2) == Stage::kPending);
}

TEST_CASE("an unapproved emergency raises the pending change set on which it depends") {
  const TemporaryFolder folder;
  Queue queue(folder);
  require_approvals_of_emergencies(queue);
  occupy(queue, 4);
  queue.submit(5, {"e"}, "land", {4}, MoveType::kEmergency);
  queue.until(5, Stage::kStaging);
  queue.turn();
  request_stop(queue, "abandon", 1);
  for (std::uint64_t i = 2; i <= 4; ++i) queue.until(i, Stage::kDone);
  CHECK(queue.lines().front() == landing(4));
  queue.turn(Scan::kAll);
  CHECK(queue.execution.is_idle());
}

TEST_CASE("an emergency that is abandoned no longer holds up others") {
  const TemporaryFolder folder;
  Queue queue(folder);
  require_approvals_of_emergencies(queue);
  occupy(queue, 3);
  queue.submit(4, {"2", "3"}, "land", {3}, MoveType::kEmergency);
  queue.until(4, Stage::kStaging);
  queue.turn();
  REQUIRE(act(queue.directories, id_of(4), {Action::kAbandon, "eve", ""}, queue.clock.now(), {}));
  queue.turn(Scan::kAll);
  request_stop(queue, "abandon", 1);
  for (std::uint64_t i = 2; i <= 3; ++i) queue.until(i, Stage::kDone);
  CHECK(queue.lines() == Lines{landing(2), landing(3)});
}

TEST_CASE("an invalid change set fails with the reason") {
  const TemporaryFolder folder;
  Queue queue(folder);
  queue.submit(1, {"../a"});
  queue.submit(2, {"a"}, "land", {7});
  queue.submit(3, {"a"}, "fail");
  queue.submit(4, {"b"}, "land", {3});
  queue.submit(5, {"../c"}, "land", {}, MoveType::kBugFix);
  queue.submit(6, {"d"}, "land", {5});
  for (std::uint64_t i = 1; i <= 6; ++i) queue.until(i, Stage::kFail);
  CHECK(queue.job_of(5).history.back().why.starts_with("##files:"));
  CHECK(queue.job_of(6).history.back().why.find("did not land") != std::string::npos);
  CHECK(queue.job_of(1).history.back().why.starts_with("##files:"));
  CHECK(queue.job_of(2).history.back().why.find("does not exist or has been deleted") !=
        std::string::npos);
  CHECK(queue.job_of(3).history.back().why == "a conflict");
  CHECK(queue.job_of(4).history.back().why.find("did not land") != std::string::npos);
  CHECK(ChangeLog(queue.directories).read(id_of(3))->output == "<<<<<<< here\n>>>>>>> there\n");
  CHECK(ChangeLog(queue.directories).read(id_of(3))->supports == std::vector{id_of(4)});
  CHECK(queue.lines().empty());
}

TEST_CASE("if files of the queue are missing, the reason does not show paths") {
  const TemporaryFolder folder;
  Queue queue(folder);
  for (std::uint64_t i = 1; i <= 2; ++i) queue.submit(i, {"a"});
  const auto tarball = queue.directories.tarball_of(name_of(1, MoveType::kDevelopment));
  FileSystem::real().remove(tarball).value();
  const auto other = queue.directories.tarball_of(name_of(2, MoveType::kDevelopment));
  std::ofstream(other.string() + ".submission") << "damaged\n";
  for (std::uint64_t i = 1; i <= 2; ++i) {
    queue.until(i, Stage::kFail);
    CHECK(queue.job_of(i).history.back().why == kServersTrouble);
  }
}

TEST_CASE("while the gate cannot be run, the queue stops, and no change set fails") {
  const TemporaryFolder folder;
  Queue queue(folder);
  bool is_broken = true;
  queue.options.check_gate = [&]() -> quarry::base::Result<void> {
    if (!is_broken) return {};
    return quarry::base::fail(quarry::base::ErrorCode::kNotFound, "/srv/gate does not exist");
  };
  queue.submit(1, {"a"});
  queue.until(1, Stage::kPending);
  for (int i = 0; i < 3; ++i) queue.turn(Scan::kAll);
  CHECK(queue.execution.is_idle());
  CHECK(queue.stage_of(1) == Stage::kPending);
  CHECK(queue.job_of(1).history.back().state == 'P');
  const std::string reason = stop_reason(queue.directories);
  CHECK(reason == "the gate cannot be run: see the server's log");
  const auto why = why_waits(queue.directories, {}, id_of(1), queue.clock.now());
  REQUIRE(why);
  CHECK(why->find("the queue has stopped: " + reason) != std::string::npos);
  CHECK(view_queue(queue.directories, {})->stopped == reason);
  is_broken = false;
  queue.until(1, Stage::kDone);
  CHECK(queue.job_of(1).deferrals == 0);
  CHECK(stop_reason(queue.directories).empty());
}

TEST_CASE("the rules of the pool are recorded for commands of the queue's owner") {
  const TemporaryFolder folder;
  Queue queue(folder);
  CHECK(noted_rules(queue.directories).max_rollback == Rules().max_rollback);
  Rules rules;
  rules.retry_delay = std::chrono::seconds(90);
  rules.max_rollback = 7;
  rules.needs_approval[static_cast<std::size_t>(MoveType::kEmergency)] = true;
  rules.needs_approval[static_cast<std::size_t>(MoveType::kDevelopment)] = true;
  REQUIRE(note_rules(queue.directories, rules));
  CHECK(noted_rules(queue.directories).retry_delay == rules.retry_delay);
  CHECK(noted_rules(queue.directories).max_rollback == 7);
  CHECK(noted_rules(queue.directories).needs_approval == rules.needs_approval);
}

TEST_CASE("a retried change set with an invalid meta file fails again for it") {
  const TemporaryFolder folder;
  Queue queue(folder);
  queue.submit(1, {"../a"});
  queue.until(1, Stage::kFail);
  const std::string why = queue.job_of(1).history.back().why;
  REQUIRE(act(queue.directories, id_of(1), {Action::kRetry, "eve", ""}, queue.clock.now(), {}));
  queue.until(1, Stage::kFail);
  const auto history = queue.job_of(1).history;
  CHECK(history.back().why == why);
  REQUIRE(history.size() == 4);
  CHECK(history[0].why == "submitted");
  CHECK(history[2].why == "retried by eve");
}

TEST_CASE("a change set without a known base keeps its metadata, and a retry checks it again") {
  const TemporaryFolder folder;
  Queue queue(folder);
  Meta meta;
  meta.target = "nowhere";
  meta.files = {"a"};
  meta.comment = "land";
  meta.base = "unknown";
  REQUIRE(queue.try_submit(1, meta));
  meta.base.clear();
  queue.until(1, Stage::kFail);
  CHECK(queue.job_of(1).meta == meta);
  pull(queue.directories.control(""), Trigger::kPrequeue);
  const auto request = queue.directories.control("diff." + std::string(id_of(1).str()));
  REQUIRE(queue.directories.replace_file(request, ""));
  REQUIRE(act(queue.directories, id_of(1), {Action::kRetry, "eve", ""}, queue.clock.now(), {}));
  queue.until(1, Stage::kFail);
  CHECK(queue.job_of(1).history.size() == 4);
  CHECK(queue.job_of(1).history.back().why == "branch nowhere does not exist");
  CHECK_FALSE(std::filesystem::exists(request));
  CHECK_FALSE(std::filesystem::exists(queue.directories.diff_of(name_of(1))));
}

TEST_CASE("a dependency that landed long ago is found") {
  const TemporaryFolder folder;
  {
    Queue queue(folder);
    queue.submit(1, {"a"});
    queue.until(1, Stage::kDone);
    FileSystem::real().remove(queue.directories.log_of(id_of(1))).value();
  }
  Queue queue(folder);
  queue.submit(2, {"b"}, "land", {1});
  queue.until(2, Stage::kDone);
}

TEST_CASE("when a child dies, its job counts as crashed, and nothing lands twice") {
  const TemporaryFolder folder;
  Queue queue(folder);
  queue.submit(1, {"a"}, "die once");
  queue.submit(2, {"b"}, "die late");
  queue.submit(3, {"c"}, "die");
  queue.until(1, Stage::kDone);
  queue.until(2, Stage::kDone);
  queue.until(3, Stage::kFail);
  Lines lines = queue.lines();
  std::ranges::sort(lines);
  CHECK(lines == Lines{landing(1), landing(2)});
  CHECK(queue.job_of(1).crashes == 1);
  CHECK(queue.job_of(3).history.back().why.find(
            "3 times; last reason: its process was killed by signal 9") != std::string::npos);
}

TEST_CASE("a temporary error defers a job, which keeps its position") {
  const TemporaryFolder folder;
  Queue queue(folder);
  queue.options.rules.max_deferrals = 2;
  queue.submit(1, {"a"}, "later");
  queue.submit(2, {"a"});
  for (std::uint32_t attempt = 1; attempt <= 2; ++attempt) {
    until_deferred(queue, 1, attempt);
    queue.turn(Scan::kAll);
    CHECK(queue.stage_of(2) == Stage::kStaging);
    CHECK(queue.execution.is_idle());
    CHECK(queue.execution.next_time());
    queue.clock.advance(60'000);
  }
  queue.until(1, Stage::kFail);
  queue.until(2, Stage::kDone);
}

TEST_CASE("a running job can be stopped, to term/ and to abandon/") {
  const TemporaryFolder folder;
  Queue queue(folder);
  queue.submit(1, {"a"}, "wait");
  queue.submit(2, {"b"}, "wait");
  queue.until_waiting(1);
  queue.until_waiting(2);
  request_stop(queue, "term", 1);
  request_stop(queue, "abandon", 2, "by bob: not\tnow\n");
  queue.until(1, Stage::kTerm);
  queue.until(2, Stage::kAbandon);
  CHECK(queue.job_of(1).history.back().why == "asked to stop");
  CHECK(queue.job_of(2).history.back().why == "by bob: not\\x09now");
  CHECK(eventually([&] {
    queue.turn();
    return *FileSystem::real().list(queue.directories.control("")) == Lines{"rules"};
  }));
  CHECK(queue.lines().empty());
}

TEST_CASE(
    "a job that was deferred while the clock was wrong is tried when the clock is corrected") {
  constexpr std::int64_t kDay = std::int64_t{24} * 3600 * 1000;
  const TemporaryFolder folder;
  Queue queue(folder);
  queue.options.rules.max_deferrals = 1;
  queue.clock.advance(kDay);
  queue.submit(1, {"a"}, "later");
  until_deferred(queue, 1);
  queue.clock.advance(-kDay);
  queue.until(1, Stage::kFail);
}

TEST_CASE("a job that is deferred before it is stopped does not run again") {
  const TemporaryFolder folder;
  Queue queue(folder);
  queue.submit(1, {"a"}, "later");
  until_deferred(queue, 1);
  request_stop(queue, "term", 1);
  queue.until(1, Stage::kTerm);
}

TEST_CASE(
    "a child executes several jobs of a branch at once, and stopping one does not stop the "
    "others") {
  const TemporaryFolder folder;
  Queue queue(folder);
  queue.options.batch = 3;
  queue.options.children = 1;
  queue.submit(1, {"a"});
  queue.submit(2, {"b"}, "wait");
  queue.submit(3, {"c"}, "wait");
  queue.submit(4, {"d"});  // does not fit in the batch
  queue.until_waiting(2);
  CHECK(queue.stage_of(1) == Stage::kRun);
  CHECK(queue.stage_of(3) == Stage::kRun);
  CHECK(queue.stage_of(4) == Stage::kPending);
  request_stop(queue, "abandon", 2, "by bob\n");
  queue.until(2, Stage::kAbandon);
  CHECK(queue.stage_of(1) == Stage::kDone);
  queue.until_waiting(3);
  queue.until(3, Stage::kRun);
  request_stop(queue, "term", 3, "by eve\n");
  queue.until(3, Stage::kTerm);
  CHECK(queue.job_of(3).deferrals == 0);
  CHECK(queue.job_of(3).history.back().why == "by eve");
  queue.until(4, Stage::kDone);
  CHECK(queue.lines() == Lines{landing(1), landing(4)});
}

TEST_CASE("the rest of a batch gives way to an emergency or a rollback, and runs again later") {
  const TemporaryFolder folder;
  Queue queue(folder);
  queue.options.batch = 3;
  queue.options.children = 1;
  std::vector<std::uint64_t> dependencies;
  std::vector<std::string> files = {"d"};
  MoveType type = MoveType::kEmergency;
  SUBCASE("an emergency that needs the child") {}
  SUBCASE("an emergency with a file of the batch") {
    files = {"c"};
  }
  SUBCASE("an emergency that depends on a job of the batch") {
    dependencies = {3};
  }
  SUBCASE("a rollback") {
    type = MoveType::kRollback;
    dependencies = {1};
    files.clear();
  }
  queue.submit(1, {"a"}, "give way");
  queue.submit(2, {"b"});
  queue.submit(3, {"c"});
  queue.until(1, Stage::kDone);
  CHECK(queue.stage_of(2) == Stage::kRun);
  queue.submit(4, files, "land", dependencies, type);
  queue.until(4, Stage::kDone);
  queue.until(2, Stage::kDone);
  queue.until(3, Stage::kDone);
  CHECK(queue.job_of(2).deferrals == 0);
  const Lines lines = queue.lines();
  REQUIRE(lines.size() >= 3);
  CHECK(lines[1] == (type == MoveType::kRollback ? "back " + std::string(id_of(1).str())
                                                 : landing(dependencies.empty() ? 4 : 3)));
}

TEST_CASE("an emergency, and what it depends on, is not in a batch with less urgent jobs") {
  const TemporaryFolder folder;
  Queue queue(folder);
  queue.options.batch = 4;
  queue.options.children = 1;
  queue.submit(1, {"a"}, "wait");
  queue.submit(2, {"b"}, "wait");
  queue.submit(3, {"c"}, "land", {2}, MoveType::kEmergency);
  queue.until_waiting(2);
  CHECK(queue.stage_of(1) == Stage::kPending);
  request_stop(queue, "abandon", 2);
  queue.until_waiting(1);
}

TEST_CASE("a child executes jobs with the same file in order, and one of them can fail alone") {
  const TemporaryFolder folder;
  Queue queue(folder);
  queue.options.batch = 3;
  queue.options.children = 2;
  queue.options.takes_lines = true;
  queue.submit(1, {"a"}, "wait");
  queue.submit(2, {"a"}, "fail");
  queue.submit(3, {"a", "b"});
  queue.submit(4, {"b"});               // does not fit in the batch
  queue.submit(5, {"a"}, "land", {3});  // waits until job 3 has landed
  queue.until_waiting(1);
  CHECK(queue.stage_of(2) == Stage::kRun);
  CHECK(queue.stage_of(3) == Stage::kRun);
  CHECK(queue.stage_of(4) == Stage::kPending);
  CHECK(queue.stage_of(5) == Stage::kPending);
  queue.submit(6, {"b"}, "land", {}, MoveType::kEmergency);
  queue.turn();
  request_stop(queue, "abandon", 1);
  queue.until(5, Stage::kDone);
  queue.until(4, Stage::kDone);
  CHECK(queue.stage_of(1) == Stage::kAbandon);
  CHECK(queue.stage_of(2) == Stage::kFail);
  // The emergency job lands before waiting jobs, but after running jobs.
  const Lines lines = queue.lines();
  const auto place = [&](std::uint64_t number) {
    return std::ranges::find(lines, landing(number)) - lines.begin();
  };
  CHECK(lines.size() == 4);
  CHECK(place(3) < place(6));
  CHECK(place(6) < place(4));
  CHECK(place(3) < place(5));
  CHECK(queue.job_of(4).meta.precursors == std::vector<ChangeSetId>{id_of(3)});
}

TEST_CASE("jobs that land together have different times of landing") {
  const TemporaryFolder folder;
  Queue queue(folder);
  queue.options.batch = 8;
  queue.options.takes_lines = true;
  for (std::uint64_t number = 1; number <= 8; ++number) queue.submit(number, {"a"});
  queue.until(8, Stage::kDone);
  Lines expected;
  for (std::uint64_t number = 1; number <= 8; ++number) {
    expected.push_back(landing(number));
    if (number == 1) continue;
    CHECK(queue.job_of(number - 1).history.back().time < queue.job_of(number).history.back().time);
    CHECK(queue.job_of(number).meta.precursors == std::vector<ChangeSetId>{id_of(number - 1)});
  }
  CHECK(queue.lines() == expected);
}

TEST_CASE("a locked job is not overtaken, and is retried in time") {
  const TemporaryFolder folder;
  Queue queue(folder);
  queue.options.batch = 4;
  queue.options.children = 1;
  queue.options.takes_lines = true;
  // The child must start before the test takes the lock on job 1, because a child inherits locks.
  queue.submit(4, {"a"});
  queue.until(4, Stage::kDone);
  for (std::uint64_t number = 1; number <= 3; ++number) queue.submit(number, {"a"});
  REQUIRE(queue.prequeue.run(Scan::kNew));
  REQUIRE(queue.queueing.run(Scan::kNew));
  auto lock = queue.directories.lock_job(Stage::kPending, name_of(1));
  REQUIRE(lock);
  REQUIRE(queue.execution.run(Scan::kNew));
  REQUIRE(eventually([&] {
    REQUIRE(queue.execution.run(Scan::kNew));
    return queue.execution.next_time().has_value();
  }));
  CHECK(queue.execution.is_idle());
  for (std::uint64_t number = 1; number <= 3; ++number) {
    CHECK(queue.stage_of(number) == Stage::kPending);
  }
  lock = std::unexpected(quarry::base::Error());
  // Now only a timer can wake the daemon. When the clock reaches the due time, next_time() must
  // still return this time.
  const UnixMillis due = *queue.execution.next_time();
  queue.clock.advance(due.value - queue.clock.now().value);
  CHECK(queue.execution.next_time() == due);
  for (std::uint64_t number = 1; number <= 3; ++number) queue.until(number, Stage::kDone);
  CHECK(queue.lines() == Lines{landing(4), landing(1), landing(2), landing(3)});
}

TEST_CASE("no job starts before one that a child of a dead daemon is still executing") {
  const TemporaryFolder folder;
  Queue queue(folder);
  queue.options.takes_lines = true;
  queue.submit(1, {"a"});
  queue.submit(2, {"a"});
  REQUIRE(queue.prequeue.run(Scan::kNew));
  REQUIRE(queue.queueing.run(Scan::kNew));
  auto lock = queue.directories.lock_job(Stage::kPending, name_of(1));
  REQUIRE(lock);
  REQUIRE(lock->move(Stage::kRun, queue.clock.now(), "executed"));
  queue.turn(Scan::kAll);
  queue.turn(Scan::kAll);
  CHECK(queue.stage_of(2) == Stage::kPending);
  REQUIRE(lock->move(Stage::kDone, queue.clock.now(), "landed"));
  REQUIRE(eventually([&] {
    queue.turn(Scan::kAll);
    return queue.stage_of(2) == Stage::kDone;
  }));
}

TEST_CASE("a job that crashed a child is executed alone") {
  const TemporaryFolder folder;
  Queue queue(folder);
  queue.options.batch = 4;
  queue.options.children = 1;
  queue.submit(1, {"a"});
  queue.submit(2, {"b"}, "die");
  queue.submit(3, {"c"});
  queue.until(1, Stage::kDone);
  queue.until(3, Stage::kDone);
  queue.until(2, Stage::kFail);
  CHECK(queue.job_of(3).crashes == 1);
  CHECK(queue.job_of(2).crashes == queue.options.rules.max_crashes);
  CHECK(queue.lines() == Lines{landing(1), landing(3)});
}

TEST_CASE("a held or unapproved job waits, and continues when it is read again from queue/") {
  const TemporaryFolder folder;
  Queue queue(folder);
  require_approvals_of_emergencies(queue);
  queue.submit(1, {"a"}, "land", {}, MoveType::kEmergency);
  queue.submit(2, {"a"});
  queue.submit(3, {"b"});
  queue.until(3, Stage::kDone);
  CHECK(queue.stage_of(1) == Stage::kStaging);
  CHECK(queue.stage_of(2) == Stage::kStaging);
  {
    auto lock = queue.directories.lock_job(Stage::kStaging, name_of(1, MoveType::kEmergency));
    REQUIRE(lock);
    lock->job.approver = "bob";
    REQUIRE(lock->move(Stage::kQueue, queue.clock.now(), "approved by bob"));
  }
  queue.until(2, Stage::kDone);
  CHECK(queue.lines() == Lines{landing(3), landing(1), landing(2)});
}

TEST_CASE("later jobs in pending/ wait for a job that is held after it has been in pending/") {
  const TemporaryFolder folder;
  Queue queue(folder);
  queue.options.takes_lines = true;
  queue.submit(1, {"a"}, "later");
  queue.submit(2, {"a"});
  until_deferred(queue, 1);
  CHECK(queue.stage_of(2) == Stage::kPending);
  const auto do_to_1 = [&](Action action) {
    return act(queue.directories, id_of(1), {.action = action, .login = "bob", .text = ""},
               queue.clock.now(), {});
  };
  REQUIRE(do_to_1(Action::kHold));
  queue.turn(Scan::kAll);
  REQUIRE(eventually([&] {
    queue.turn(Scan::kAll);
    return queue.execution.is_idle();
  }));
  CHECK(queue.stage_of(1) == Stage::kStaging);
  CHECK(queue.stage_of(2) == Stage::kPending);
  REQUIRE(do_to_1(Action::kAbandon));
  queue.until(2, Stage::kDone);
}

TEST_CASE("a job that is abandoned after a rollback does not block later jobs") {
  const TemporaryFolder folder;
  Queue queue(folder);
  queue.options.rules.needs_approval[static_cast<std::size_t>(MoveType::kEmergency)] = true;
  queue.submit(1, {"b"});
  queue.until(1, Stage::kDone);
  queue.submit(2, {"a"}, "land", {}, MoveType::kEmergency);
  queue.submit(3, {"a"});
  queue.submit(4, {}, "land", {1}, MoveType::kRollback);
  queue.until(4, Stage::kDone);
  CHECK(queue.stage_of(3) == Stage::kStaging);
  REQUIRE(act(queue.directories, id_of(2), {.action = Action::kAbandon, .login = "bob", .text = ""},
              queue.clock.now(), {}));
  queue.until(3, Stage::kDone);
}

TEST_CASE("a file that is not a job moves to fail/, and delays no job") {
  const TemporaryFolder folder;
  Queue queue(folder);
  std::ofstream(queue.directories.file_of(Stage::kPrequeue, name_of(1))) << "nonsense";
  std::ofstream(queue.directories.file_of(Stage::kQueue, name_of(2))) << "nonsense";
  std::ofstream(queue.directories.file_of(Stage::kRun, name_of(3))) << "nonsense";
  queue.submit(4, {"a"});
  queue.until(4, Stage::kDone);
  queue.turn(Scan::kAll);
  for (std::uint64_t i = 1; i <= 3; ++i) CHECK(queue.stage_of(i) == Stage::kFail);
}

TEST_CASE("a folder with the name of a job is skipped, and delays no job and no rollback") {
  const TemporaryFolder folder;
  Queue queue(folder);
  std::uint64_t number = 1;
  for (const Stage stage : {Stage::kPrequeue, Stage::kQueue, Stage::kStaging, Stage::kPending,
                            Stage::kRun, Stage::kDone, Stage::kAbandon}) {
    std::filesystem::create_directory(queue.directories.file_of(stage, name_of(number++)));
  }
  queue.submit(10, {"a"});
  queue.until(10, Stage::kDone);
  queue.submit(11, {"b"}, "land", {2});
  queue.submit(12, {}, "land", {10}, MoveType::kRollback);
  queue.until(12, Stage::kDone);
  for (const std::uint64_t waiting : {1U, 2U, 3U, 4U, 11U}) {
    const auto why = why_waits(queue.directories, {}, id_of(waiting), queue.clock.now());
    REQUIRE(why);
    CHECK(why->find("its job file cannot be read: see the server's log") != why->npos);
  }
}

TEST_CASE("a job whose file the daemons may not read is skipped until they may read it") {
  const TemporaryFolder folder;
  WatchedFiles files;
  Queue queue(folder, files);
  queue.submit(1, {"a"});
  queue.submit(2, {"b"});
  queue.until(1, Stage::kDone);
  queue.until(2, Stage::kDone);
  queue.submit(3, {"c"});
  queue.submit(4, {"d"}, "land", {3});
  REQUIRE(queue.prequeue.run(Scan::kNew));
  files.denied = {queue.directories.file_of(Stage::kQueue, name_of(3)),
                  queue.directories.file_of(Stage::kDone, name_of(2))};
  queue.submit(5, {}, "land", {1}, MoveType::kRollback);
  queue.until(5, Stage::kDone);
  CHECK(queue.stage_of(3) == Stage::kQueue);
  CHECK(queue.stage_of(4) == Stage::kStaging);
  const auto why = why_waits(queue.directories, {}, id_of(3), queue.clock.now());
  REQUIRE(why);
  CHECK(why->find("its job file cannot be read") != why->npos);
  files.denied.clear();
  queue.until(4, Stage::kDone);
  CHECK(queue.stage_of(3) == Stage::kDone);
}

TEST_CASE("a rollback rolls back the change sets that it names and all their dependents") {
  const TemporaryFolder folder;
  Queue queue(folder);
  queue.submit(1, {"a"});
  queue.submit(2, {"b"}, "land", {1});
  queue.submit(3, {"c"});
  for (std::uint64_t i = 1; i <= 3; ++i) queue.until(i, Stage::kDone);
  queue.submit(4, {"d"}, "wait", {2});
  queue.submit(5, {"e"}, "land", {4});
  queue.until_waiting(4);
  queue.submit(6, {}, "land", {1}, MoveType::kRollback);
  queue.until(6, Stage::kDone);
  CHECK(queue.stage_of(4) == Stage::kAbandon);
  CHECK(queue.stage_of(5) == Stage::kAbandon);
  const Lines lines = queue.lines();
  CHECK(Lines(lines.begin() + 3, lines.end()) == Lines{reversal(1), reversal(2)});
  CHECK(queue.job_of(2).rolled_back == RolledBack{.by = id_of(6), .from = Stage::kDone});
  CHECK_FALSE(queue.job_of(3).rolled_back);
  // A job that depends on a rolled-back job fails, and so does a second rollback.
  queue.submit(7, {"b"}, "land", {2});
  queue.until(7, Stage::kFail);
  queue.submit(8, {}, "land", {1}, MoveType::kRollback);
  queue.until(8, Stage::kFail);
  CHECK(queue.job_of(8).history.back().why.find("already rolled back") != std::string::npos);
}

TEST_CASE("a rollback of change sets that have not landed abandons them") {
  const TemporaryFolder folder;
  Queue queue(folder);
  require_approvals_of_emergencies(queue);
  queue.submit(1, {"a"}, "land", {}, MoveType::kEmergency);
  queue.submit(2, {"b"}, "land", {1});
  queue.until(2, Stage::kStaging);
  queue.submit(3, {}, "land", {1}, MoveType::kRollback);
  queue.until(3, Stage::kDone);
  CHECK(queue.stage_of(1) == Stage::kAbandon);
  CHECK(queue.stage_of(2) == Stage::kAbandon);
  CHECK(queue.job_of(1).rolled_back->by == id_of(3));
  const Job rollback = queue.job_of(3);
  CHECK_FALSE(rollback.landed);
  CHECK(numbers_of(rollback.closure) == std::vector<std::uint64_t>{1, 2});
  CHECK(queue.lines().empty());
}

TEST_CASE("a failed rollback changes nothing") {
  const TemporaryFolder folder;
  Queue queue(folder);
  queue.submit(1, {"a"});
  queue.until(1, Stage::kDone);
  require_approvals_of_emergencies(queue);
  queue.submit(2, {"b"}, "land", {1}, MoveType::kEmergency);
  queue.until(2, Stage::kStaging);
  queue.submit(3, {}, "fail", {1}, MoveType::kRollback);
  queue.until(3, Stage::kFail);
  CHECK(queue.job_of(3).history.back().why == "it can't be reversed");
  CHECK(queue.stage_of(2) == Stage::kStaging);
  CHECK_FALSE(queue.job_of(2).rolled_back);
  CHECK_FALSE(queue.job_of(1).rolled_back);
  REQUIRE(act(queue.directories, id_of(2), {Action::kApprove, "bob", ""}, queue.clock.now(), {}));
  queue.until(2, Stage::kDone);
}

TEST_CASE("a rollback waits while its branch is frozen, and then goes first") {
  const TemporaryFolder folder;
  Queue queue(folder);
  queue.submit(1, {"a"});
  queue.until(1, Stage::kDone);
  REQUIRE(set_frozen(queue.directories, "trunk", true));
  queue.submit(2, {"b"});
  queue.until(2, Stage::kStaging);
  queue.submit(3, {}, "land", {1}, MoveType::kRollback);
  queue.until(3, Stage::kPending);
  for (int i = 0; i < 3; ++i) queue.turn(Scan::kAll);
  CHECK(queue.stage_of(3) == Stage::kPending);
  CHECK(queue.job_of(3).history.back().why == "branch trunk is frozen");
  CHECK_FALSE(queue.job_of(1).rolled_back);
  // On a frozen branch, a rollback can still remove a change set that has not landed.
  queue.submit(4, {}, "land", {2}, MoveType::kRollback);
  queue.until(4, Stage::kDone);
  CHECK(queue.stage_of(2) == Stage::kAbandon);
  queue.submit(5, {"c"});
  queue.until(5, Stage::kStaging);
  REQUIRE(set_frozen(queue.directories, "trunk", false));
  queue.until(5, Stage::kDone);
  CHECK(queue.lines() == Lines{landing(1), reversal(1), landing(5)});
}

TEST_CASE("a rollback that reaches two branches is refused when it is checked") {
  const TemporaryFolder folder;
  Queue queue(folder);
  queue.submit(1, {"a"});
  Meta meta;
  meta.target = "side";
  meta.files = {"b"};
  meta.dependencies = {id_of(1)};
  REQUIRE(queue.try_submit(2, meta));
  queue.until(2, Stage::kDone);
  queue.submit(3, {}, "land", {1}, MoveType::kRollback);
  REQUIRE(queue.prequeue.run(Scan::kNew));
  CHECK(queue.stage_of(3) == Stage::kFail);
  CHECK(queue.job_of(3).history.back().why ==
        fmt::format("{} landed on the branch trunk, and {} on side: use one rollback per branch, "
                    "starting with the dependent change sets",
                    id_of(1).str(), id_of(2).str()));
  CHECK(rollback_closure(queue.directories, {id_of(1)}, 10).error().code == ErrorCode::kConflict);
  queue.submit(4, {}, "land", {2}, MoveType::kRollback);
  queue.until(4, Stage::kDone);
  REQUIRE(act(queue.directories, id_of(3), {Action::kRetry, "bob", ""}, queue.clock.now(), {}));
  queue.until(3, Stage::kDone);
  CHECK(queue.job_of(3).meta.target == "trunk");
}

TEST_CASE("a rollback whose child dies is repeated, once") {
  for (const std::string wish : {"die once", "die late"}) {
    CAPTURE(wish);
    const TemporaryFolder folder;
    Queue queue(folder);
    queue.submit(1, {"a"});
    queue.until(1, Stage::kDone);
    queue.submit(2, {}, wish, {1}, MoveType::kRollback);
    queue.until(2, Stage::kDone);
    CHECK(queue.lines() == Lines{landing(1), reversal(1)});
    CHECK(queue.job_of(2).crashes == 1);
  }
}

TEST_CASE("a rollback of too many change sets fails") {
  const TemporaryFolder folder;
  Queue queue(folder);
  queue.options.rules.max_rollback = 1;
  queue.submit(1, {"a"});
  queue.submit(2, {"b"}, "land", {1});
  queue.until(2, Stage::kDone);
  queue.submit(3, {}, "land", {1}, MoveType::kRollback);
  queue.until(3, Stage::kFail);
  CHECK(queue.job_of(3).history.back().why.find("more than 1 ") != std::string::npos);
}

TEST_CASE("circular dependencies, which only the owner of the folders can make, fail") {
  const TemporaryFolder folder;
  Queue queue(folder);
  const auto put = [&](std::uint64_t number, std::vector<std::uint64_t> dependencies,
                       MoveType type = MoveType::kDevelopment) {
    queue.submit(number, {}, "land", {}, type);
    auto lock = queue.directories.lock_job(Stage::kPrequeue, name_of(number, type));
    REQUIRE(lock);
    if (type != MoveType::kRollback) lock->job.meta.target = "trunk";
    if (type != MoveType::kRollback) lock->job.meta.files = {"b"};
    for (const auto one : dependencies) lock->job.meta.dependencies.push_back(id_of(one));
    REQUIRE(lock->move(Stage::kQueue, queue.clock.now(), "by hand"));
  };
  const auto why = [&](std::uint64_t number) { return queue.job_of(number).history.back().why; };
  put(1, {1});
  put(2, {4});
  put(3, {2});
  put(4, {3});
  for (std::uint64_t i = 1; i <= 4; ++i) queue.until(i, Stage::kFail);
  CHECK(why(1) == fmt::format("it depends on {0}, which depends on it", id_of(1).str()));
  int closing = 0, others = 0;
  for (std::uint64_t i = 2; i <= 4; ++i) {
    closing += why(i).find("which depends on it") != std::string::npos ? 1 : 0;
    others += why(i).find("did not land") != std::string::npos ? 1 : 0;
  }
  CHECK(closing == 1);
  CHECK(others == 2);
  put(5, {5}, MoveType::kRollback);
  put(6, {7}, MoveType::kRollback);
  put(7, {6}, MoveType::kRollback);
  for (std::uint64_t i = 5; i <= 7; ++i) {
    queue.until(i, Stage::kFail);
    CHECK(why(i).find("is a rollback") != std::string::npos);
  }
  queue.submit(8, {"b"});
  queue.until(8, Stage::kDone);
  // Job 9 depends on job 8 and on the rollback of job 8, and is therefore abandoned.
  put(9, {8, 10});
  queue.submit(10, {}, "land", {8}, MoveType::kRollback);
  queue.until(10, Stage::kDone);
  CHECK(queue.stage_of(9) == Stage::kAbandon);
}

TEST_CASE("lost logs are rebuilt from the job files") {
  const TemporaryFolder folder;
  Queue queue(folder);
  queue.submit(1, {"a"});
  queue.submit(2, {"b"}, "land", {1});
  queue.until(2, Stage::kDone);
  REQUIRE(eventually([&] {
    queue.turn();
    return queue.execution.is_idle();
  }));
  const ChangeLog log(queue.directories);
  for (const std::uint64_t number : {1U, 2U}) {
    FileSystem::real().remove(queue.directories.log_of(id_of(number))).value();
  }
  Queueing anew(queue.context());
  REQUIRE(anew.begin());
  CHECK(log.read(id_of(1))->supports == std::vector{id_of(2)});
  const auto text = queue.directories.read_file(queue.directories.log_of(id_of(2)), 4'096);
  REQUIRE(text);
  CHECK(text->starts_with(
      fmt::format("name {}\ndepends {}\nstate ", name_of(2).text(), id_of(1).str())));
  CHECK(text->ends_with(" D landed\n"));
}

TEST_CASE("the prequeue daemon computes the diffs that are requested") {
  const TemporaryFolder folder;
  Queue queue(folder);
  queue.submit(1, {"a"});
  queue.submit(2, {"b"});
  REQUIRE(queue.prequeue.run(Scan::kNew));
  for (const std::uint64_t number : {1U, 2U, 3U}) request_stop(queue, "diff", number);
  for (int i = 0; i < 3; ++i) REQUIRE(queue.prequeue.run(Scan::kNew));
  for (const std::uint64_t number : {1U, 2U}) {
    const auto location = queue.directories.find(id_of(number));
    REQUIRE((location && *location));
    const auto diff =
        queue.directories.read_file(queue.directories.diff_of((*location)->name), 100);
    REQUIRE(diff);
    CHECK(*diff == "the diff of " + std::string(id_of(number).str()));
    CHECK_FALSE(std::filesystem::exists(
        queue.directories.control("diff." + std::string(id_of(number).str()))));
  }
}

TEST_CASE("jobs wait while another host has the right to execute") {
  class Right final : public ExecutionRight {
   public:
    bool take() override { return has = is_free; }
    void give_back() override { has = false; }
    bool is_free = false, has = false;
  };
  const TemporaryFolder folder;
  Queue queue(folder);
  const auto right = std::make_shared<Right>();
  queue.options.right = right;
  queue.submit(1, {"a"});
  for (int i = 0; i < 3; ++i) queue.turn();
  CHECK(queue.stage_of(1) == Stage::kPending);
  CHECK(queue.execution.next_time() > queue.clock.now());
  right->is_free = true;
  queue.until(1, Stage::kDone);
  queue.submit(2, {"b"}, "wait");
  queue.until_waiting(2);
  CHECK(right->has);
  request_stop(queue, "term", 2);
  queue.until(2, Stage::kTerm);
  CHECK_FALSE(right->has);
}
