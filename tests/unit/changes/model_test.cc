#include "quarry/changes/model.h"

#include <doctest/doctest.h>

#include <chrono>
#include <set>
#include <string>
#include <vector>

#include "model_world.h"

using namespace quarry::changes;
using quarry::base::ErrorCode;
using quarry::base::UnixMillis;

namespace {

using Numbers = std::vector<std::uint64_t>;
constexpr UnixMillis kModelTime{1'700'000'000'000};

Numbers ready(const Model& model) {
  return numbers_of(model.ready(kModelTime));
}

std::string why(const Model& model, std::uint64_t number) {
  return model.why_not(id_of(number), kModelTime);
}

bool has(const std::string& text, std::string_view part) {
  INFO(text);
  return text.find(part) != std::string::npos;
}

}  // namespace

TEST_CASE("jobs that touch the same file of a branch go one after another, oldest first") {
  Model model;
  model.put(job_of(2, {"a", "b"}));
  model.put(job_of(1, {"a"}));
  model.put(job_of(3, {"c"}));
  ModelJob elsewhere = job_of(4, {"a"});
  elsewhere.branch = "other";
  model.put(elsewhere);
  CHECK(ready(model) == Numbers{1, 3, 4});
  CHECK(has(why(model, 2), "0000000000000001 (DC), which goes first and also changes a on trunk"));
  move(model, 1, Stage::kRun);
  CHECK(ready(model) == Numbers{3, 4});
  CHECK(has(why(model, 2), "which is running"));
  move(model, 1, Stage::kDone);
  CHECK(ready(model) == Numbers{2, 3, 4});
  CHECK(why(model, 2).empty());
}

TEST_CASE("a higher move type overtakes waiting jobs, but not running ones") {
  Model model;
  model.put(job_of(1, {"a"}));
  model.put(job_of(2, {"a"}));
  move(model, 1, Stage::kRun);
  model.put(job_of(3, {"a"}, {}, MoveType::kBugFix));
  model.put(job_of(4, {"a"}, {}, MoveType::kEmergency));
  CHECK(ready(model).empty());
  move(model, 1, Stage::kFail);
  CHECK(ready(model) == Numbers{4});
  CHECK(numbers_of(model.in_order()) == Numbers{4, 3, 2});
}

TEST_CASE("an emergency lends its rank to its dependencies") {
  Model model;
  model.put(job_of(1, {"a"}));
  model.put(job_of(2, {"a"}));
  model.put(job_of(3, {"b"}, {2}));
  model.put(job_of(4, {"a"}, {}, MoveType::kBugFix));
  model.put(job_of(5, {"c"}, {3}, MoveType::kEmergency));
  CHECK(numbers_of(model.in_order()) == Numbers{2, 3, 5, 4, 1});
  CHECK(ready(model) == Numbers{2});
  ModelJob held = *model.find(id_of(5));
  held.held = "bob";
  model.put(held);
  CHECK(numbers_of(model.in_order()) == Numbers{2, 3, 5, 4, 1});
  CHECK(ready(model) == Numbers{2});
  move(model, 5, Stage::kAbandon);
  CHECK(numbers_of(model.in_order()) == Numbers{4, 1, 2, 3});
  CHECK(ready(model) == Numbers{4});
}

TEST_CASE("a dependent waits until the job has landed") {
  Model model;
  model.put(job_of(1, {"a"}));
  model.put(job_of(2, {"b"}, {1}));
  CHECK(ready(model) == Numbers{1});
  CHECK(has(why(model, 2), "it depends on 0000000000000001 (queued), which has not landed"));
  move(model, 1, Stage::kRun);
  CHECK(has(why(model, 2), "it is running"));
  CHECK(ready(model).empty());
  move(model, 1, Stage::kDone);
  CHECK(ready(model) == Numbers{2});
}

TEST_CASE("a dependent of a job that did not land can never run") {
  Model model;
  model.put(job_of(1, {"a"}));
  model.put(job_of(2, {"b"}, {1}));
  model.put(job_of(3, {"b"}, {2}));
  model.put(job_of(4, {"d"}, {99}));
  CHECK(model.doomed().size() == 1);
  CHECK(has(why(model, 4), "0000000000000063, which does not exist or has been deleted"));
  CHECK(numbers_of(model.unknown()) == Numbers{99});
  move(model, 1, Stage::kFail);
  REQUIRE(model.doomed().size() == 2);
  CHECK(has(why(model, 2), "(failed), which did not land"));
  CHECK(ready(model).empty());
  move(model, 2, Stage::kFail);
  move(model, 3, Stage::kFail);
  CHECK(model.doomed().size() == 1);
}

TEST_CASE("a dependent of an unchecked job waits for it") {
  Model model;
  ModelJob unseen;
  unseen.name = name_of(1);
  model.put(unseen);
  model.put(job_of(2, {"a"}, {1}));
  model.put(job_of(3, {"a"}));
  CHECK(model.doomed().empty());
  CHECK(ready(model).empty());
  CHECK(has(why(model, 2), "it is waiting to be checked"));
  CHECK(has(why(model, 3), "0000000000000002 (DC), which goes first"));
  model.put(job_of(1, {"b"}));
  CHECK(ready(model) == Numbers{1});
}

TEST_CASE("a circle of dependencies dooms the job that closes it") {
  Model model;
  model.put(job_of(1, {"a"}, {3}));
  model.put(job_of(2, {"b"}, {1}));
  model.put(job_of(3, {"c"}, {2}));
  model.put(job_of(4, {"d"}, {4}));
  REQUIRE(model.doomed().size() == 2);
  CHECK(has(why(model, 3), "it depends on 0000000000000002, which depends on it"));
  CHECK(has(why(model, 4), "which depends on it"));
  move(model, 3, Stage::kFail);
  CHECK(has(why(model, 1), "did not land"));
}

TEST_CASE("later jobs wait for a job that is held, not approved, or of a frozen branch") {
  Model model;
  ModelJob first = job_of(1, {"a"}), second = job_of(2, {"a"}), third = job_of(3, {"a"});
  first.held = "bob: not today";
  second.is_approved = false;
  model.put(first);
  model.put(second);
  model.put(third);
  CHECK(ready(model).empty());
  CHECK(why(model, 1) == "it is held by bob: not today");
  CHECK(has(why(model, 2), "approval"));
  CHECK(why(model, 3) ==
        "it is waiting for 0000000000000001 (DC), which goes first and also changes a on trunk: it "
        "is held by bob: not today");
  CHECK(numbers_of(model.precursors_of(id_of(3))) == Numbers{2});
  model.put(job_of(4, {"a"}, {}, MoveType::kBugFix));
  CHECK(ready(model) == Numbers{4});
  move(model, 4, Stage::kDone);
  first.held.clear();
  model.put(first);
  model.set_frozen({"trunk"});
  CHECK(ready(model).empty());
  CHECK(why(model, 3) == "branch trunk is frozen");
  model.set_frozen({});
  CHECK(ready(model) == Numbers{1});
  move(model, 1, Stage::kDone);
  CHECK(ready(model).empty());
  second.is_approved = true;
  model.put(second);
  CHECK(ready(model) == Numbers{2});
  move(model, 2, Stage::kAbandon);
  CHECK(ready(model) == Numbers{3});
}

TEST_CASE("later jobs wait for a job that depends on a held one, but its dependencies do not") {
  Model model;
  ModelJob held = job_of(1, {"a"});
  held.held = "bob";
  model.put(held);
  model.put(job_of(2, {"b"}, {1}, MoveType::kEmergency));
  model.put(job_of(3, {"b"}));
  CHECK(ready(model).empty());
  CHECK(has(why(model, 2), "which has not landed: it is held by bob"));
  CHECK(has(why(model, 3), "0000000000000002 (EM), which goes first"));
  ModelJob urgent = job_of(6, {"c"}, {5}, MoveType::kEmergency);
  urgent.held = "bob";
  model.put(job_of(4, {"c"}));
  model.put(job_of(5, {"c"}));
  model.put(urgent);
  CHECK(ready(model) == Numbers{5});
  move(model, 5, Stage::kDone);
  CHECK(ready(model).empty());
  move(model, 6, Stage::kAbandon);
  CHECK(ready(model) == Numbers{4});
}

TEST_CASE("a deferred job keeps its position until its time") {
  Model model;
  ModelJob job = job_of(1, {"a"});
  job.stage = Stage::kPending;
  job.not_before = {kModelTime.value + 1};
  model.put(job);
  model.put(job_of(2, {"a"}));
  CHECK(ready(model).empty());
  CHECK(has(why(model, 1), "deferred until"));
  job.deferral_reason = "the branch has forked";
  model.put(job);
  CHECK(why(model, 1).ends_with(": the branch has forked"));
  CHECK(model.next_time(kModelTime) == job.not_before);
  CHECK(numbers_of(model.ready(job.not_before)) == Numbers{1});
}

TEST_CASE("precursors are the jobs right ahead in each file") {
  Model model;
  model.put(job_of(1, {"a", "b"}));
  model.put(job_of(2, {"a"}));
  model.put(job_of(3, {"c"}));
  model.put(job_of(4, {"a", "b", "d"}));
  CHECK(numbers_of(model.precursors_of(id_of(4))) == Numbers{1, 2});
  CHECK(model.precursors_of(id_of(1)).empty());
  move(model, 2, Stage::kRun);
  move(model, 1, Stage::kDone);
  CHECK(numbers_of(model.precursors_of(id_of(4))) == Numbers{2});
}

TEST_CASE("a rollback goes first, and everything waits for it") {
  Model model;
  model.put(job_of(1, {"a"}));
  ModelJob rollback = job_of(2, {}, {1}, MoveType::kRollback);
  rollback.branch.clear();
  model.put(rollback);
  CHECK(ready(model) == Numbers{2, 1});
  CHECK(has(why(model, 1), "it is waiting for rollback"));
}

TEST_CASE("the closure of a rollback has all dependents, and all that landed on top") {
  Model model;
  const auto landed = [&](std::uint64_t number, std::int64_t when, Numbers dependencies,
                          std::vector<std::string> files, std::string branch = "trunk") {
    ModelJob job = job_of(number, std::move(files), dependencies);
    job.branch = std::move(branch);
    job.stage = Stage::kDone;
    job.landed_at = {when};
    model.put(job);
  };
  landed(1, 30, {}, {"a"});
  landed(2, 40, {1}, {"b"});
  landed(3, 50, {}, {"a"});
  landed(4, 20, {}, {"a"});  // landed earlier
  landed(5, 60, {}, {"c"});
  landed(6, 70, {2}, {"d"});
  model.put(job_of(7, {"e"}, {6}));
  model.put(job_of(8, {"a"}));  // has not landed
  model.put(job_of(9, {"f"}, {2}));
  move(model, 9, Stage::kFail);
  landed(10, 80, {}, {"b", "e"});
  landed(11, 90, {}, {"e", "g"});
  landed(12, 95, {}, {"a", "g"}, "side");
  const auto closure = model.closure({id_of(1)}, 7);
  REQUIRE(closure);
  CHECK(numbers_of(*closure) == Numbers{1, 2, 3, 6, 10, 11, 7});
  CHECK(model.closure({id_of(1)}, 6).error().code == ErrorCode::kLimit);
  CHECK(numbers_of(*model.closure({id_of(5), id_of(11)}, 7)) == Numbers{5, 11});
  CHECK(numbers_of(*model.closure({id_of(8)}, 7)) == Numbers{8});
  CHECK(model.closure({id_of(9)}, 5).error().code == ErrorCode::kNotFound);
  CHECK(model.closure({id_of(77)}, 5).error().code == ErrorCode::kNotFound);
  // If two change sets seem to have landed at the same time, either could be on top of the other.
  landed(13, 99, {}, {"z"});
  landed(14, 99, {}, {"z"});
  CHECK(numbers_of(*model.closure({id_of(13)}, 5)) == Numbers{13, 14});
  CHECK(numbers_of(*model.closure({id_of(14)}, 5)) == Numbers{13, 14});
  ModelJob taken = *model.find(id_of(6));
  taken.is_rolled_back = true;
  model.put(taken);
  CHECK(has(model.closure({id_of(6)}, 5).error().message, "already rolled back"));
  CHECK(has(why(model, 7), "which was rolled back"));
}

TEST_CASE("jobs that wait only for each other are in line, unless another job is between them") {
  Model model;
  const auto line = [&] { return numbers_of(model.in_line(kModelTime, 100)); };
  for (const std::uint64_t number : {1U, 2U, 3U}) model.put(job_of(number, {"a"}));
  model.put(job_of(4, {"b", "c"}));
  model.put(job_of(5, {"c"}, {4}));
  model.put(job_of(6, {"c"}));
  model.put(job_of(7, {"d"}));
  CHECK(line() == Numbers{1, 2, 3, 4, 5, 6, 7});
  CHECK(numbers_of(model.in_line(kModelTime, 2)) == Numbers{1, 2});
  ModelJob held = job_of(1, {"a"});
  held.held = "bob";
  model.put(held);
  CHECK(line() == Numbers{4, 5, 6, 7});
  held = job_of(5, {"c"}, {4});
  held.held = "bob";
  model.put(held);
  CHECK(line() == Numbers{4, 7});
  model.put(job_of(5, {"c"}, {4}));
  model.put(job_of(1, {"a"}));
  ModelJob later = job_of(2, {"a"});
  later.not_before = {kModelTime.value + 1};
  model.put(later);
  CHECK(line() == Numbers{1, 4, 5, 6, 7});
  model.put(job_of(8, {"a"}, {}, MoveType::kEmergency));
  CHECK(line() == Numbers{8, 1, 4, 5, 6, 7});
  later.stage = Stage::kPending;  // starts without another move when it is due
  model.put(later);
  CHECK(line() == Numbers{8, 1, 2, 3, 4, 5, 6, 7});
  move(model, 8, Stage::kRun);
  move(model, 4, Stage::kDone);
  model.put(job_of(2, {"a"}));
  CHECK(line() == Numbers{1, 2, 3, 5, 6, 7});
  model.put(job_of(9, {"e"}, {2}, MoveType::kBugFix));
  CHECK(numbers_of(model.in_line(kModelTime, 100, MoveType::kBugFix)) == Numbers{2, 9});
}

TEST_CASE("a job may follow only the jobs of the batch") {
  Model model;
  for (const std::uint64_t number : {1U, 2U, 3U}) model.put(job_of(number, {"a"}));
  model.put(job_of(4, {"a", "b"}));
  model.put(job_of(5, {"b"}, {}, MoveType::kEmergency));
  model.put(job_of(6, {"c"}, {1}));
  const auto follows = [&](std::uint64_t number, std::set<ChangeSetId> batch) {
    return model.may_follow(id_of(number), batch, kModelTime);
  };
  CHECK(follows(1, {}));
  CHECK_FALSE(follows(2, {}));
  move(model, 1, Stage::kRun);
  CHECK_FALSE(follows(1, {}));
  CHECK(follows(2, {id_of(1)}));
  CHECK_FALSE(follows(2, {id_of(3)}));
  CHECK_FALSE(follows(3, {id_of(1)}));
  CHECK_FALSE(follows(6, {id_of(1)}));  // job 1 might fail
  move(model, 2, Stage::kRun);
  move(model, 3, Stage::kRun);
  const std::set<ChangeSetId> batch = {id_of(1), id_of(2), id_of(3)};
  CHECK_FALSE(follows(4, batch));  // the emergency job 5 goes first
  CHECK(follows(5, batch));
  move(model, 5, Stage::kDone);
  CHECK(follows(4, batch));
}

TEST_CASE("with 10,000 waiting jobs another one is cheap, even if all touch one file") {
  Model model;
  constexpr std::uint64_t kJobs = 10'000;
  const auto file = [](std::uint64_t number, std::string_view kind) {
    return fmt::format("{}{}", kind, number);
  };
  for (std::uint64_t i = 1; i <= kJobs; ++i) {
    model.put(job_of(i, {"same", file(i, "own"), file(i % 100, "shared")},
                     i > 50 ? Numbers{i - 50} : Numbers{}));
  }
  const auto begin = std::chrono::steady_clock::now();
  for (std::uint64_t i = kJobs + 1; i <= kJobs + 100; ++i) {
    model.put(job_of(i, {"same", file(i, "own")}, {i - 50}));
    CHECK_FALSE(model.is_ready(id_of(i), kModelTime));
    CHECK(numbers_of(model.precursors_of(id_of(i))) == Numbers{i - 1});
  }
  // The emergency job becomes the first in every list.
  model.put(job_of(kJobs + 200, {"same"}, {}, MoveType::kEmergency));
  CHECK(ready(model) == Numbers{kJobs + 200});
  const auto spent = std::chrono::steady_clock::now() - begin;
  const auto micros = std::chrono::duration_cast<std::chrono::microseconds>(spent).count();
  MESSAGE(micros, " us for a hundred");
  CHECK(spent < std::chrono::minutes(1));
}
