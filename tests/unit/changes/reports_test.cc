// Tests that each move is reported once and in order, regardless of the process that makes the
// move.
#include <doctest/doctest.h>

#include <map>
#include <string>
#include <vector>

#include "daemon_queue.h"
#include "quarry/changes/actions.h"

using namespace quarry::changes;

namespace {

using Moves = std::vector<std::string>;

struct Recorder {
  std::map<std::uint64_t, Moves> moves;  // moves as "from>to: why"

  explicit Recorder(Queue& queue) {
    queue.report = [this](const QueueOptions&, const Job& job, Stage from, Stage to) {
      REQUIRE_FALSE(job.history.empty());
      CHECK(job.history.back().state == letter_of(to));
      CHECK(job.submitter == "ann");
      moves[number_of(job.name.id)].push_back(
          fmt::format("{}>{}: {}", folder_of(from), folder_of(to), job.history.back().why));
    };
  }
  const Moves& of(std::uint64_t number) { return moves[number]; }
};

/// Waits until COUNT moves of the job NUMBER are recorded.
void until_recorded(Queue& queue, Recorder& recorder, std::uint64_t number, std::size_t count) {
  REQUIRE(eventually([&] {
    queue.turn();
    return recorder.of(number).size() >= count;
  }));
}

const Moves kUsual = {"prequeue>queue: checked", "queue>pending: ready", "pending>run: executed",
                      "run>done: landed"};

void act(Queue& queue, std::uint64_t number, Action action) {
  const auto acted = act(queue.directories, id_of(number),
                         {.action = action, .login = "bob", .text = {}}, queue.clock.now(), {});
  INFO((acted ? std::string() : acted.error().message));
  REQUIRE(acted);
}

}  // namespace

TEST_CASE("every move is reported, also for each job of a batch") {
  const TemporaryFolder folder;
  Queue queue(folder);
  queue.options.batch = 3;
  Recorder recorder(queue);
  for (const std::uint64_t number : {1U, 2U, 3U, 4U}) {
    queue.submit(number, {fmt::format("f{}", number)});
  }
  for (const std::uint64_t number : {1U, 2U, 3U, 4U}) {
    CAPTURE(number);
    until_recorded(queue, recorder, number, 4);
    CHECK(recorder.of(number) == kUsual);
  }
}

TEST_CASE("the start of a job is reported while it runs") {
  const TemporaryFolder folder;
  Queue queue(folder);
  Recorder recorder(queue);
  queue.submit(1, {"a"}, "wait");
  until_recorded(queue, recorder, 1, 3);
  CHECK(recorder.of(1).back() == "pending>run: executed");
  CHECK(queue.stage_of(1) == Stage::kRun);
  act(queue, 1, Action::kTerminate);
  until_recorded(queue, recorder, 1, 4);
  CHECK(recorder.of(1).back() == "run>term: terminated by bob");
}

TEST_CASE("crashes and deferrals are reported each time") {
  const TemporaryFolder folder;
  Queue queue(folder);
  queue.options.rules.max_deferrals = 1;
  Recorder recorder(queue);
  queue.submit(1, {"a"}, "die once");
  queue.submit(2, {"b"}, "later");
  until_recorded(queue, recorder, 1, 6);
  CHECK(recorder.of(1)[2] == "pending>run: executed");
  CHECK(recorder.of(1)[3].starts_with("run>pending: "));
  CHECK(Moves(recorder.of(1).begin() + 4, recorder.of(1).end()) ==
        Moves(kUsual.begin() + 2, kUsual.end()));
  until_recorded(queue, recorder, 2, 4);
  queue.clock.advance(10'000);
  until_recorded(queue, recorder, 2, 6);
  CHECK(recorder.of(2)[3] == "run>pending: busy");
  CHECK(recorder.of(2)[4] == "pending>run: executed");
  CHECK(recorder.of(2)[5].starts_with("run>fail: deferred 1 times"));
}

TEST_CASE("moves by users are reported too") {
  const TemporaryFolder folder;
  Queue queue(folder);
  Recorder recorder(queue);
  queue.submit(1, {"a"}, "fail");
  queue.until(1, Stage::kFail);
  until_recorded(queue, recorder, 1, 4);
  queue.clock.advance(1);
  act(queue, 1, Action::kRetry);
  until_recorded(queue, recorder, 1, 8);
  CHECK(Moves(recorder.of(1).begin() + 3, recorder.of(1).end()) ==
        Moves{"run>fail: a conflict", "fail>queue: retried by bob on the same base, bbbbbbbbbb",
              "queue>pending: ready", "pending>run: executed", "run>fail: a conflict"});

  queue.submit(2, {"b"});
  REQUIRE(queue.prequeue.run(Scan::kNew));
  act(queue, 2, Action::kHold);
  REQUIRE(queue.queueing.run(Scan::kNew));
  act(queue, 2, Action::kAbandon);
  until_recorded(queue, recorder, 2, 4);
  CHECK(recorder.of(2) == Moves{"prequeue>queue: checked", "queue>queue: held by bob",
                                "queue>staging: it is held by bob",
                                "staging>abandon: abandoned by bob"});
  CHECK(*queue.directories.files().list(queue.directories.control("")) == Lines{"rules"});
}

TEST_CASE("a rollback and the jobs that it stops are reported") {
  const TemporaryFolder folder;
  Queue queue(folder);
  Recorder recorder(queue);
  queue.submit(1, {"a"});
  queue.until(1, Stage::kDone);
  queue.submit(2, {"b"}, "land", {1});
  REQUIRE(queue.prequeue.run(Scan::kNew));
  act(queue, 2, Action::kHold);
  queue.submit(3, {}, "back", {1}, MoveType::kRollback);
  until_recorded(queue, recorder, 3, 4);
  CHECK(recorder.of(3)[2] == "pending>run: rolls back 2 change sets");
  CHECK(recorder.of(3)[3] == "run>done: landed");
  REQUIRE_FALSE(recorder.of(2).empty());
  CHECK(recorder.of(2).back() == "staging>abandon: rolled back by 0000000000000003");
}
