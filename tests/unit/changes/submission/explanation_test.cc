#include "quarry/changes/explanation.h"

#include <doctest/doctest.h>

#include <string>
#include <vector>

#include "quarry/changes/actions.h"
#include "quarry/changes/frozen.h"
#include "quarry/changes/options.h"
#include "world.h"

using namespace quarry::changes;
using changes_test::kNow;
using changes_test::named;
using changes_test::Queue;

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
  CHECK(has(why(queue, failed), "fail/: a conflict in a"));
  CHECK_FALSE(why_waits(queue.directories, {}, named("ff").id, kNow));
}

TEST_CASE("a rollback rolls back what landed on top, and nothing else") {
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

TEST_CASE("a rollback also rolls back what is landing on top") {
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
  view->jobs[3].job.meta.precursors = {named("a1").id};
  view->jobs[4].job.meta.dependencies = {named("ff").id};
  view->jobs[5].job.meta.files = {"e"};
  explain(*view, {}, {"other"}, kNow);
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
  explain(*view, rules, {}, kNow);
  CHECK_FALSE(view->jobs[4].expected);
  CHECK(has(view->jobs[4].remark, "approval"));
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
