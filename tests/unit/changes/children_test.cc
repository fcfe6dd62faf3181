// Tests which child of the execution daemon may land next.

#include "children.h"

#include <doctest/doctest.h>
#include <fmt/core.h>
#include <poll.h>
#include <sys/socket.h>

#include <string>
#include <utility>
#include <vector>

#include "eventually.h"
#include "model_world.h"

using namespace quarry::changes;
using quarry::base::Fd;

namespace {

/// Runs in a child. Asks for a turn when it gets a job. Reports that the job has begun after asking
/// for the turn, and again after getting it. A stop request ends the job.
void ask_for_turns(Fd socket, pid_t) {
  std::string line, id;
  char byte = 0;
  const auto send = [&](const std::string& text) {
    return ::send(socket.get(), text.data(), text.size(), MSG_NOSIGNAL) > 0;
  };
  while (true) {
    pollfd poll{.fd = socket.get(), .events = POLLIN, .revents = 0};
    ::poll(&poll, 1, -1);
    const ssize_t count = ::recv(socket.get(), &byte, 1, 0);
    if (count == 0) return;
    if (count < 0) continue;
    if (byte != '\n') {
      line += byte;
      continue;
    }
    std::string answer;
    if (line.starts_with("land ")) {
      id = line.substr(5, 16);
      answer = fmt::format("turn\nbegun {}\n", id);
    } else if (line == "turn") {
      answer = fmt::format("begun {}\n", id);
    } else if (line == "give way") {
      answer = fmt::format("begun {}\n", id);
    } else if (line.starts_with("stop ")) {
      answer = line_of({.verdict = Verdict::kLanded, .why = {}, .landed = {}});
    }
    if (!send(answer)) return;
    line.clear();
  }
}

class Landings {
 public:
  /// Gives the job NUMBER to a new child, and waits until the child has asked for a turn.
  void begin(std::uint64_t number, const std::string& branch,
             MoveType type = MoveType::kDevelopment) {
    begin_batch({name_of(number, type)}, branch);
  }
  /// Gives the jobs to a new child, and waits until the child has asked for a turn.
  void begin_batch(std::vector<ChangeSetName> names, const std::string& branch) {
    const ChangeSetName first = names.front();
    REQUIRE(children.make_idle_one());
    REQUIRE(children.give(std::move(names), branch, first.type));
    wait_for_answer(number_of(first.id));
  }
  /// Gives turns, and waits until NUMBER has one.
  void expect_turn(std::uint64_t number) {
    children.give_turns([this](const std::string& branch) { return branch != busy; });
    wait_for_answer(number);
  }
  /// Ends the job NUMBER.
  void end(std::uint64_t number) {
    children.stop(id_of(number), 0, "");
    wait_for_answer(number);
    CHECK_FALSE(children.is_busy_with(id_of(number)));
  }
  /// Waits for one answer, which has to be about NUMBER.
  void wait_for_answer(std::uint64_t number) {
    std::vector<Answer> answers;
    REQUIRE(eventually([&] { return !(answers = children.take_answers()).empty(); }));
    REQUIRE(answers.size() == 1);
    CHECK(number_of(answers.front().name.id) == number);
  }

  Children children{ask_for_turns};
  std::string busy;  // a branch on which another process lands
};

}  // namespace

TEST_CASE("one child has the turn of a branch, and then the most urgent and earliest job gets it") {
  Landings landings;
  landings.begin(5, "trunk");
  landings.expect_turn(5);
  landings.begin(4, "trunk");
  landings.begin(3, "trunk");
  landings.begin(6, "trunk", MoveType::kEmergency);
  landings.begin(7, "other");
  landings.expect_turn(7);
  landings.end(5);
  landings.expect_turn(6);
  landings.end(6);
  landings.expect_turn(4);
  landings.end(4);
  landings.expect_turn(3);
}

TEST_CASE("a branch on which another process lands has no turns") {
  Landings landings;
  landings.begin(1, "trunk");
  landings.begin(2, "other");
  landings.busy = "trunk";
  landings.expect_turn(2);
  landings.busy.clear();
  landings.expect_turn(1);
}

TEST_CASE("batches that are less urgent are asked once to give way") {
  Landings landings;
  const auto batch = [&](std::uint64_t number, MoveType type) {
    landings.begin_batch({name_of(number, type), name_of(number + 1, type)}, "trunk");
  };
  batch(1, MoveType::kDevelopment);
  batch(3, MoveType::kEmergency);
  batch(5, MoveType::kDevelopment);
  landings.begin(7, "trunk");
  landings.children.make_way(MoveType::kEmergency, id_of(6));
  landings.wait_for_answer(5);
  landings.children.make_way(MoveType::kEmergency);
  landings.wait_for_answer(1);
  landings.children.make_way(MoveType::kRollback);
  landings.wait_for_answer(3);
}

TEST_CASE("a child that exits loses its turn") {
  Landings landings;
  landings.begin(1, "trunk");
  landings.expect_turn(1);
  landings.begin(2, "trunk");
  landings.children.kill(id_of(1));
  landings.wait_for_answer(1);
  landings.expect_turn(2);
}
