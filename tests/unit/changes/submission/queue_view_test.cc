#include "quarry/changes/queue_view.h"

#include <doctest/doctest.h>

#include <fstream>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "quarry/changes/actions.h"
#include "quarry/changes/change_log.h"
#include "quarry/changes/daemon_notes.h"
#include "world.h"

using namespace quarry::changes;
using changes_test::kNow;
using changes_test::named;
using changes_test::Queue;
using quarry::base::UnixMillis;

namespace {

UnixMillis later(std::int64_t millis) {
  return {kNow.value + millis};
}

std::vector<std::string> ids_of(const QueueView& view) {
  std::vector<std::string> ids;
  for (const JobView& each : view.jobs) ids.emplace_back(each.job.name.id.str().substr(0, 2));
  return ids;
}

}  // namespace

TEST_CASE("waiting jobs are in order of execution, finished ones latest first") {
  Queue queue;
  queue.put(named("a1", MoveType::kDevelopment, later(1)), Stage::kStaging);
  queue.put(named("a2", MoveType::kEmergency, later(2)), Stage::kQueue);
  queue.put(named("a3", MoveType::kDevelopment, later(3)), Stage::kRun);
  queue.put(named("b1", MoveType::kDevelopment, later(4)), Stage::kDone);
  queue.put(named("b2", MoveType::kDevelopment, later(5)), Stage::kFail, "no branch x");
  queue.submit(named("a4", MoveType::kDevelopment, later(6)));
  const auto view = view_queue(queue.directories, {});
  REQUIRE(view);
  CHECK(ids_of(*view) == std::vector<std::string>{"a3", "a2", "a1", "a4", "b2", "b1"});
  CHECK(view->counts == std::array<std::uint64_t, kStages>{1, 1, 1, 0, 1, 1, 1, 0, 0});
  CHECK(view->jobs[1].place == 2);
  CHECK(view->jobs[3].is_new);
  CHECK(view->jobs[3].job.submitter == "ann");
  CHECK(view->jobs[4].place == 0);
}

TEST_CASE("a dependency is directly before the more urgent job that depends on it") {
  Queue queue;
  const auto first = named("a1", MoveType::kDevelopment, later(1)),
             deeper = named("a2", MoveType::kDevelopment, later(2)),
             dependency = named("a3", MoveType::kDevelopment, later(3)),
             fix = named("a4", MoveType::kBugFix, later(4)),
             emergency = named("a5", MoveType::kEmergency, later(5));
  for (const auto& name : {first, deeper, dependency, fix, emergency})
    queue.put(name, Stage::kStaging);
  const std::vector<RaisedJob> raised = {{dependency.id, emergency}, {deeper.id, emergency}};
  REQUIRE(note_raised(queue.directories, raised));
  CHECK(noted_raised(queue.directories) == raised);
  ViewOptions options{.max_waiting = 1};
  std::vector<std::string> ids;
  for (bool is_last = false; !is_last; is_last = !options.after) {
    const auto page = view_queue(queue.directories, options);
    REQUIRE(page);
    ids.push_back(ids_of(*page).front());
    options.after = Bookmark::parse(page->more_waiting);
  }
  CHECK(ids == std::vector<std::string>{"a3", "a2", "a5", "a4", "a1"});
}

TEST_CASE("page after page shows each job once, in order, and says whether there are more") {
  Queue queue;
  const std::vector<std::string> waiting = {"a1", "a2", "a3", "a4", "a5"},
                                 over = {"b1", "b2", "b3"};
  for (std::size_t i = 0; i < waiting.size(); ++i) {
    queue.put(named(waiting[i], MoveType::kDevelopment, later(static_cast<std::int64_t>(i))),
              i == 0 ? Stage::kRun : Stage::kStaging);
  }
  for (std::size_t i = 0; i < over.size(); ++i) {
    queue.put(named(over[i], MoveType::kDevelopment, later(static_cast<std::int64_t>(i))),
              i == 1 ? Stage::kFail : Stage::kDone);
  }
  ViewOptions options{.max_waiting = 2, .max_over = 2};
  const auto first = view_queue(queue.directories, options);
  REQUIRE(first);
  CHECK(ids_of(*first) == std::vector<std::string>{"a1", "a2", "b3", "b2"});
  CHECK(first->counts[static_cast<std::size_t>(Stage::kStaging)] == 4);
  const auto document = nlohmann::json::parse(json_of(*first));
  CHECK(document["next"]["waiting"] == first->more_waiting);
  CHECK(document["next"]["over"] == first->more_over);
  options.after = Bookmark::parse(first->more_waiting);
  REQUIRE(options.after);
  const auto second = view_queue(queue.directories, options);
  REQUIRE(second);
  CHECK(ids_of(*second) == std::vector<std::string>{"a3", "a4"});
  CHECK(second->jobs.front().place == 3);
  CHECK(second->more_over == "");
  CHECK(second->counts == first->counts);
  {
    auto lock = queue.directories.lock_job(Stage::kStaging, second->jobs.back().job.name);
    REQUIRE(lock);
    REQUIRE(lock->move(Stage::kAbandon, kNow, "not now"));
  }
  queue.put(named("a0", MoveType::kEmergency), Stage::kQueue);
  options.after = Bookmark::parse(second->more_waiting);
  const auto third = view_queue(queue.directories, options);
  REQUIRE(third);
  CHECK(ids_of(*third) == std::vector<std::string>{"a5"});
  CHECK(third->more_waiting == "");
  options.after = Bookmark::parse(first->more_over);
  REQUIRE(options.after);
  const auto last = view_queue(queue.directories, options);
  REQUIRE(last);
  CHECK(ids_of(*last) == std::vector<std::string>{"b1"});
  CHECK(last->more_over == "");
}

TEST_CASE("the view can be limited to some states, and all jobs are counted") {
  Queue queue;
  queue.put(named("a1"), Stage::kStaging);
  queue.put(named("a2", MoveType::kDevelopment, later(1)), Stage::kPending);
  queue.put(named("b1"), Stage::kDone);
  queue.put(named("b2"), Stage::kFail);
  const auto ids = [&](std::string_view words) {
    const auto stages = stages_named(words);
    REQUIRE(stages);
    const auto view = view_queue(queue.directories, {.stages = *stages});
    REQUIRE(view);
    CHECK(view->counts == std::array<std::uint64_t, kStages>{0, 0, 1, 1, 0, 1, 1, 0, 0});
    if (!view->jobs.empty() && view->jobs[0].stage == Stage::kPending) {
      CHECK(view->jobs[0].place == 2);
    }
    return ids_of(*view);
  };
  CHECK(ids("pending") == std::vector<std::string>{"a2"});
  CHECK(ids("failed,staged") == std::vector<std::string>{"a1", "b2"});
  CHECK(ids("waiting") == std::vector<std::string>{"a1", "a2"});
  CHECK(ids("over").size() == 2);
  CHECK(ids("running").empty());
  CHECK(ids("").size() == 4);
  for (const char* wrong : {"ctrl", "done", "landed,", ",", "LANDED", "landed failed"})
    CHECK_FALSE(stages_named(wrong));
}

TEST_CASE("a job that is over is not held") {
  Queue queue;
  queue.put(named("a1"));
  for (const Action action : {Action::kHold, Action::kAbandon, Action::kRetry}) {
    REQUIRE(act(queue.directories, named("a1").id, {action, "eve", ""}, kNow, {}));
    const auto view = view_queue(queue.directories, {});
    REQUIRE(view);
    CHECK(view->jobs[0].job.held == (action == Action::kAbandon ? "" : "eve"));
  }
}

TEST_CASE("a bookmark is read as written, and anything else is rejected") {
  for (const Stage stage : {Stage::kRun, Stage::kPending, Stage::kDone}) {
    const Bookmark mark{.stage = stage, .name = named("a1")};
    const auto read = Bookmark::parse(mark.text());
    REQUIRE(read);
    CHECK(read->stage == stage);
    CHECK(read->name == mark.name);
  }
  for (const char* wrong : {"", "w", "x", "../done", "wa100000000000000", "\xff"}) {
    CHECK_FALSE(Bookmark::parse(wrong));
  }
  CHECK_FALSE(Bookmark::parse("x" + named("a1").text()));
}

TEST_CASE("the view of a branch reads a limited number of job files, and the next page continues") {
  Queue queue;
  const std::string text = "##movetype\nDC\n##target\ntrunk\n##files\na\n##submitter\nann\n";
  const auto name = [](std::size_t number) {
    return named("c0", MoveType::kDevelopment, later(static_cast<std::int64_t>(number)));
  };
  for (std::size_t i = 0; i < kMaxViewed + 5; ++i) {
    for (const Stage stage : {Stage::kPending, Stage::kDone}) {
      std::ofstream file(queue.directories.file_of(stage, name(i)));
      std::string other = text;
      if (i == 0 || i == kMaxViewed + 4) other.replace(other.find("trunk"), 5, "other");
      file << other;
    }
  }
  ViewOptions options{.branch = "other"};
  auto view = view_queue(queue.directories, options);
  REQUIRE(view);
  REQUIRE(view->jobs.size() == 2);
  CHECK(view->jobs[0].place == 1);
  CHECK(view->jobs[1].job.name == name(kMaxViewed + 4));
  for (const std::string& more : {view->more_waiting, view->more_over}) {
    options.after = Bookmark::parse(more);
    REQUIRE(options.after);
    const auto rest = view_queue(queue.directories, options);
    REQUIRE(rest);
    CHECK(rest->jobs.size() == 1);
    CHECK(rest->more_waiting == "");
    CHECK(rest->more_over == "");
  }
}

TEST_CASE("files that are not jobs are not listed among finished jobs") {
  Queue queue;
  queue.put(named("b1"), Stage::kDone);
  for (const char* file : {"x", "zzzzzzzzzzzzzzzz_ffffffffffffffffffffffff_", "b2"}) {
    std::ofstream(queue.directories.folder(Stage::kDone) / file) << "garbage";
  }
  const auto view = view_queue(queue.directories, {.max_over = 1});
  REQUIRE(view);
  CHECK(ids_of(*view) == std::vector<std::string>{"b1"});
}

TEST_CASE("a queue that was never used is empty") {
  const TemporaryFolder folder;
  const Directories directories(quarry::base::FileSystem::real(), folder / "none.changes");
  const auto view = view_queue(directories, {});
  REQUIRE(view);
  CHECK(view->jobs.empty());
  CHECK_FALSE(std::filesystem::exists(folder / "none.changes"));
}

TEST_CASE("an unreadable job file is shown as such, and hides no other") {
  Queue queue;
  queue.put(named("a1"));
  std::ofstream(queue.directories.file_of(Stage::kQueue, named("a2"))) << "garbage";
  const auto view = view_queue(queue.directories, {});
  REQUIRE(view);
  CHECK(view->jobs.size() == 2);
  CHECK(view->jobs[1].remark.find("cannot be read") != std::string::npos);
  CHECK_FALSE(view->jobs[1].is_new);
  const auto document = nlohmann::json::parse(json_of(view->jobs[1], /*whole=*/false));
  CHECK(document["why"] == view->jobs[1].remark);
}

TEST_CASE("the JSON of a change set that has not been checked yet says what it waits for") {
  Queue queue;
  queue.submit(named("a1"));
  const auto view = view_job(queue.directories, queue.place_of(named("a1")));
  REQUIRE(view);
  const auto document = nlohmann::json::parse(json_of(*view, /*whole=*/true));
  CHECK(document["is_new"] == true);
  CHECK(document["why"] == "it is waiting to be checked");
}

TEST_CASE("the expected time is estimated from earlier landings") {
  Queue queue;
  const ChangeSetName done = named("b1");
  queue.put(done, Stage::kPending);
  {
    auto lock = queue.directories.lock_job(Stage::kPending, done);
    REQUIRE(lock);
    REQUIRE(lock->move(Stage::kRun, later(1'000), ""));
    REQUIRE(lock->move(Stage::kDone, later(3'000), "landed"));
  }
  queue.put(named("a1"));
  queue.put(named("a2"));
  const auto view = view_queue(queue.directories, {});
  REQUIRE(view);
  CHECK(view->jobs[0].expected == std::chrono::milliseconds(2'000));
  CHECK(view->jobs[1].expected == std::chrono::milliseconds(4'000));
}

TEST_CASE("the JSON of a queue and of its change sets") {
  Queue queue;
  queue.put(named("a1"));
  queue.put(named("b1"), Stage::kFail, "a \"reason\"\\ with <marks>");
  const auto view = view_queue(queue.directories, {});
  REQUIRE(view);
  const auto document = nlohmann::json::parse(json_of(*view, "\"repository\":\"x\","));
  CHECK(document["repository"] == "x");
  CHECK(document["counts"]["queued"] == 1);
  CHECK(document["counts"]["failed"] == 1);
  CHECK(document["next"].empty());
  REQUIRE(document["jobs"].size() == 2);
  CHECK(document["jobs"][0]["id"] == named("a1").id.str());
  CHECK(document["jobs"][0]["state"] == "queued");
  CHECK(document["jobs"][0]["comment"] == "The first line");
  CHECK(document["jobs"][1]["why"] == "a \"reason\"\\ with <marks>");
  REQUIRE(ChangeLog(queue.directories).say(named("b1").id, "a conflict\nin two lines"));
  auto whole = view_job(queue.directories, queue.place_of(named("b1")));
  REQUIRE(whole);
  CHECK(whole->output == "a conflict\nin two lines\n");
  // A long line is split, so that its end is not lost.
  REQUIRE(ChangeLog(queue.directories).say(named("a1").id, std::string(6'000, 'x') + " error"));
  CHECK(view_job(queue.directories, queue.place_of(named("a1")))->output ==
        std::string(4'096, 'x') + "\n" + std::string(1'904, 'x') + " error\n");
  whole->job.submitter = "\xff";
  const auto one = nlohmann::json::parse(json_of(*whole, /*whole=*/true));
  CHECK(one["name"] == named("b1").text());
  CHECK(one["files"] == std::vector<std::string>{"a"});
  CHECK(one["history"].size() == whole->job.history.size());
  CHECK(one["output"] == whole->output);
  CHECK(one["dependents"].empty());
  for (const auto& name : {named("c1"), named("d1", MoveType::kRollback)}) {
    Job job;
    job.name = name;
    job.meta.dependencies = {named("b1").id};
    REQUIRE(ChangeLog(queue.directories).begin(job));
  }
  whole = view_job(queue.directories, queue.place_of(named("b1")));
  REQUIRE(whole);
  CHECK(whole->dependents == std::vector{named("c1").id});
  CHECK(one["submitter"] == "\xef\xbf\xbd");
}

TEST_CASE(
    "the headline is the first line of the comment, or what a rollback without one rolls back") {
  Job job;
  job.name = named("a1");
  CHECK(headline(job) == "");
  job.meta.comment = "\n  one\ntwo";
  CHECK(headline(job) == "one");
  job.name.type = MoveType::kRollback;
  CHECK(headline(job) == "one");
  job.meta.comment = " \n";
  for (const char* id : {"b1", "b2"}) job.meta.dependencies.push_back(named(id).id);
  CHECK(headline(job) == "roll back b1000000, b2000000");
  for (int i = 0; i < 4; ++i) job.meta.dependencies.push_back(named("b3").id);
  CHECK(headline(job).ends_with("b3000000, …"));
}
