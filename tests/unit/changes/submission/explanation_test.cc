#include "quarry/changes/explanation.h"

#include <doctest/doctest.h>
#include <fmt/core.h>

#include <chrono>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "quarry/changes/actions.h"
#include "quarry/changes/daemon_notes.h"
#include "quarry/changes/frozen.h"
#include "quarry/changes/options.h"
#include "world.h"

using namespace quarry::changes;
using changes_test::kNow;
using changes_test::named;
using changes_test::Queue;
using namespace std::chrono_literals;

namespace {

std::string why(Queue& queue, const ChangeSetName& name, const char* needs = "none") {
  Rules rules;
  rules.needs_approval = *parse_move_types(needs);
  const auto said = why_waits(queue.directories, rules, name.id, kNow);
  REQUIRE(said);
  return *said;
}

ChangeSetName at(std::string_view id, std::int64_t millis) {
  return named(id, MoveType::kDevelopment, {kNow.value + millis});
}

bool has(const std::string& text, std::string_view part) {
  return text.find(part) != std::string::npos;
}

/// Adds the change set NAME if STAGE is queue/. Then applies CHANGE to the job in STAGE.
void put(Queue& queue, const ChangeSetName& name, const std::function<void(Job&)>& change,
         Stage stage = Stage::kQueue) {
  if (stage == Stage::kQueue) queue.put(name);
  auto lock = queue.directories.lock_job(stage, name);
  REQUIRE(lock);
  change(lock->job);
  REQUIRE(lock->update());
}

/// Returns a view in which each waiting change set had an expected time before the explanation.
QueueView view_with_times(Queue& queue, const ViewOptions& options) {
  auto view = view_queue(queue.directories, options);
  REQUIRE(view);
  for (JobView& each : view->jobs) each.expected = std::chrono::seconds(1);
  REQUIRE(explain(*view, queue.directories, {}, {}, kNow));
  return *view;
}

}  // namespace

TEST_CASE("a sentence explains why a change set is waiting") {
  Queue queue;
  const ChangeSetName first = at("a1", 1), second = at("a2", 2);
  queue.put(first);
  queue.put(second);
  CHECK(has(why(queue, first), "nothing blocks it"));
  CHECK(has(why(queue, second), "a100000000000000"));
  CHECK(has(why(queue, first, "DC"), "approv"));
  REQUIRE(set_frozen(queue.directories, "trunk", true));
  CHECK(has(why(queue, first), "frozen"));
  const ChangeSetName failed = at("b1", 3);
  queue.put(failed, Stage::kFail, "a conflict in a");
  CHECK(has(why(queue, failed), "failed: a conflict in a"));
  CHECK_FALSE(why_waits(queue.directories, {}, named("ff").id, kNow));
}

TEST_CASE("a rollback includes landed dependents, and nothing else") {
  Queue queue;
  const ChangeSetName first = at("a1", 1), second = at("a2", 2), other = at("a3", 3);
  queue.put(first, Stage::kDone);
  queue.submit(second);
  {
    auto lock = queue.directories.lock_job(Stage::kPrequeue, second);
    REQUIRE(lock);
    lock->job.submitter = "ann";
    lock->job.meta.target = "trunk";
    lock->job.meta.files = {"b"};
    lock->job.meta.dependencies = {first.id};
    REQUIRE(lock->move(Stage::kDone, {kNow.value + 10}, "landed"));
  }
  queue.put(other, Stage::kQueue);
  const auto locations = rollback_closure(queue.directories, {first.id}, 10);
  REQUIRE(locations);
  std::vector<std::string> ids;
  for (const JobLocation& each : *locations) ids.emplace_back(each.name.id.str().substr(0, 2));
  CHECK(ids == std::vector<std::string>{"a1", "a2"});
  CHECK(rollback_closure(queue.directories, {second.id}, 10)->size() == 1);
  CHECK_FALSE(rollback_closure(queue.directories, {first.id}, 1));
  CHECK_FALSE(rollback_closure(queue.directories, {named("ff").id}, 10));
}

TEST_CASE("a rollback also includes running changes to the same files") {
  Queue queue;
  const ChangeSetName first = at("a1", 1), second = at("a2", 2), other = at("a3", 3);
  queue.put(first, Stage::kDone);
  queue.put(second, Stage::kRun);
  queue.put(other, Stage::kQueue);
  const auto locations = rollback_closure(queue.directories, {first.id}, 10);
  REQUIRE(locations);
  REQUIRE(locations->size() == 2);
  CHECK((*locations)[1].name == second);
  CHECK((*locations)[1].stage == Stage::kRun);
}

TEST_CASE("a change set that waits for a user has a reason and no expected time") {
  Queue queue;
  for (const char* digits : {"a1", "a2", "a3", "a4", "a5", "a6"}) queue.put(named(digits));
  auto view = view_queue(queue.directories, {});
  REQUIRE(view);
  const char* files[] = {"a", "b", "c", "d", "e", "f"};
  for (std::size_t i = 0; i < view->jobs.size(); ++i) {
    view->jobs[i].expected = std::chrono::seconds(1);
    view->jobs[i].job.meta.files = {files[i]};
  }
  view->jobs[0].job.held = "ann: not now";
  view->jobs[1].job.meta.target = "other";
  view->jobs[2].job.meta.dependencies = {named("a1").id};
  view->jobs[3].job.meta.files = {"a"};
  view->jobs[5].job.meta.files = {"e"};
  REQUIRE(explain(*view, queue.directories, {}, {"other"}, kNow));
  std::vector<bool> has_time;
  for (const JobView& each : view->jobs) has_time.push_back(each.expected.has_value());
  CHECK(has_time == std::vector<bool>{false, false, false, false, true, true});
  CHECK(view->jobs[0].remark == "it is held by ann: not now");
  CHECK(view->jobs[1].remark == "branch other is frozen");
  CHECK(has(view->jobs[2].remark, "it is held by ann"));
  CHECK(view->jobs[4].remark == "");
  CHECK(has(view->jobs[5].remark, "also changes e"));
  Rules rules;
  rules.needs_approval = *parse_move_types("DC");
  view->jobs[4].remark.clear();
  REQUIRE(explain(*view, queue.directories, rules, {}, kNow));
  CHECK_FALSE(view->jobs[4].expected);
  CHECK(has(view->jobs[4].remark, "approval"));
}

TEST_CASE("a change set has no expected time while anything ahead of it is stopped") {
  Queue queue;
  const ChangeSetName held = at("a1", 1), dependent = at("a2", 2), behind = at("a3", 3),
                      last = at("a4", 4), free = at("a5", 5), doomed = at("a6", 6);
  put(queue, held, [](Job& job) {
    job.held = "ann: not now";
    job.meta.target = "other";
  });
  put(queue, dependent, [&](Job& job) {
    job.meta.dependencies = {held.id};
    job.meta.files = {"b"};
  });
  put(queue, behind, [](Job& job) { job.meta.files = {"b", "c"}; });
  put(queue, last, [&](Job& job) {
    job.meta.dependencies = {behind.id};
    job.meta.files = {"d"};
  });
  put(queue, free, [](Job& job) { job.meta.files = {"e"}; });
  put(queue, doomed, [](Job& job) {
    job.meta.dependencies = {named("ff").id};
    job.meta.files = {"f"};
  });
  const auto view = view_with_times(queue, {.branch = "trunk"});
  REQUIRE(view.jobs.size() == 5);
  for (std::size_t i = 0; i < 3; ++i) {
    CHECK_FALSE(view.jobs[i].expected);
    CHECK(has(view.jobs[i].remark, "it is held by ann: not now"));
  }
  CHECK(has(view.jobs[1].remark, "waiting for a200000000000000 (DC)"));
  CHECK(has(view.jobs[2].remark, "it depends on a300000000000000 (queued)"));
  CHECK(view.jobs[3].expected);
  CHECK(view.jobs[3].remark.empty());
  CHECK_FALSE(view.jobs[4].expected);
  CHECK(has(view.jobs[4].remark, "does not exist"));
  CHECK(why(queue, last) == view.jobs[2].remark);
  CHECK(has(why(queue, last), "waiting for a100000000000000 (DC): it is held by ann"));
  // The first change set of the next page is stopped by change sets on the previous page.
  const auto bookmark = Bookmark{.stage = Stage::kPending, .name = behind};
  const auto rest = view_with_times(queue, {.after = bookmark});
  REQUIRE(rest.jobs.size() == 3);
  CHECK_FALSE(rest.jobs[0].expected);
  CHECK(rest.jobs[1].expected);
}

TEST_CASE("the expected time does not include stopped change sets") {
  Queue queue;
  std::vector<ChangeSetName> names;
  for (int i = 1; i <= 5; ++i) {
    names.push_back(at(fmt::format("a{}", i), i));
    put(queue, names.back(), [&](Job& job) {
      job.meta.files = {fmt::format("file {}", i)};
      if (i == 1 || i == 3) job.held = "ann: not now";
    });
  }
  for (const auto& options :
       {ViewOptions{}, ViewOptions{.after = Bookmark{.stage = Stage::kQueue, .name = names[2]}}}) {
    auto view = view_queue(queue.directories, options);
    REQUIRE(view);
    for (JobView& each : view->jobs) {
      each.expected = std::chrono::seconds(10) * static_cast<int>(each.place);
    }
    REQUIRE(explain(*view, queue.directories, {}, {}, kNow));
    std::vector<std::optional<std::chrono::milliseconds>> expected;
    for (const JobView& each : view->jobs) expected.push_back(each.expected);
    std::vector<std::optional<std::chrono::milliseconds>> wanted = {std::nullopt, 10s, std::nullopt,
                                                                    20s, 30s};
    if (options.after) wanted.erase(wanted.begin(), wanted.begin() + 3);
    CHECK(expected == wanted);
  }
}

TEST_CASE("a change set has no expected time while one ahead of it is deferred") {
  Queue queue;
  const ChangeSetName deferred = at("a1", 1), behind = at("a2", 2);
  queue.put(deferred, Stage::kPending, "the branch trunk has forked");
  put(
      queue, deferred, [](Job& job) { job.deferrals = 1; }, Stage::kPending);
  queue.put(behind);
  const auto view = view_with_times(queue, {});
  for (const JobView& each : view.jobs) {
    CHECK_FALSE(each.expected);
    CHECK(has(each.remark, "it is deferred until"));
    CHECK(has(each.remark, "the branch trunk has forked"));
  }
  CHECK(has(why(queue, behind), "it is deferred until"));
}

TEST_CASE("a change set does not have an expected time while a set ahead of it is late") {
  Queue queue;
  const ChangeSetName late = at("a1", 1), quick = at("a2", 2), behind = at("a3", 3),
                      next = at("a4", 4);
  const auto change_b = [](Job& job) { job.meta.files = {"b"}; };
  queue.put(late, Stage::kRun);
  queue.put(quick, Stage::kRun);
  put(queue, quick, change_b, Stage::kRun);
  queue.put(behind);
  queue.put(next);
  put(queue, next, change_b);
  auto view = view_queue(queue.directories, {});
  REQUIRE(view);
  for (JobView& each : view->jobs) each.expected = std::chrono::seconds(10);
  view->jobs[0].expected = std::chrono::seconds(1);
  REQUIRE(explain(*view, queue.directories, {}, {}, {kNow.value + 2'000}));
  CHECK(view->jobs[0].is_late);
  CHECK(view->jobs[1].expected == std::chrono::seconds(8));
  CHECK_FALSE(view->jobs[2].expected);
  CHECK(view->jobs[3].expected == std::chrono::seconds(10));
  REQUIRE(explain(*view, queue.directories, {}, {}, {kNow.value + 20'000}));
  CHECK_FALSE(view->jobs[3].expected);
}

TEST_CASE("a stopped queue is the reason why a change set waits") {
  Queue queue;
  const ChangeSetName first = at("a1", 1), second = at("a2", 2);
  const ChangeSetName rollback = named("b1", MoveType::kRollback);
  queue.put(first);
  queue.put(second);
  REQUIRE(note_stop(queue.directories, "the gate cannot be run"));
  CHECK(why(queue, first) == "the queue has stopped: the gate cannot be run");
  CHECK(has(why(queue, second), "a100000000000000"));
  CHECK(has(why(queue, second), "; the queue has stopped"));
  put(queue, rollback, [](Job& job) { job.meta.files.clear(); });
  const auto view = view_with_times(queue, {});
  CHECK(view.jobs[0].expected);
  CHECK_FALSE(view.jobs[1].expected);
  CHECK_FALSE(view.jobs[2].expected);
  CHECK(has(why(queue, rollback), "nothing blocks it"));
  CHECK(has(why(queue, first), "it is waiting for rollback b100000000000000"));
}

TEST_CASE("a change set waits for a rollback that is running, but not for a deferred one") {
  Queue queue;
  const ChangeSetName first = at("a1", 1), rollback = named("b1", MoveType::kRollback);
  queue.put(first);
  put(queue, rollback, [](Job& job) { job.meta.files.clear(); });
  auto lock = queue.directories.lock_job(Stage::kQueue, rollback);
  REQUIRE(lock);
  REQUIRE(lock->move(Stage::kRun, kNow, "rolls back 1 change sets"));
  CHECK(why(queue, first) == "it is waiting for rollback b100000000000000, which is running");
  lock->job.deferrals = 1;
  REQUIRE(lock->move(Stage::kPending, kNow, "the branch trunk has forked"));
  CHECK(has(why(queue, first), "nothing blocks it"));
}

TEST_CASE("an action is possible if it changes the change set") {
  Queue queue;
  queue.put(named("a1"));
  Job job = *queue.directories.read(Stage::kQueue, named("a1"));
  CHECK(is_possible(Action::kHold, Stage::kQueue, job));
  CHECK_FALSE(is_possible(Action::kRelease, Stage::kQueue, job));
  CHECK_FALSE(is_possible(Action::kRetry, Stage::kQueue, job));
  CHECK_FALSE(is_possible(Action::kHold, Stage::kDone, job));
  CHECK_FALSE(is_possible(Action::kAbandon, Stage::kPrequeue, job));
  CHECK_FALSE(is_possible(Action::kHold, Stage::kRun, job));
  CHECK(is_possible(Action::kAbandon, Stage::kRun, job));
  CHECK(is_possible(Action::kRetry, Stage::kFail, job));
  job.held = "ann";
  CHECK(is_possible(Action::kRelease, Stage::kPending, job));
}
