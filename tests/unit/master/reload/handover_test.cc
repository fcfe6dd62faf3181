#include "quarry/master/handover.h"

#include <doctest/doctest.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <string_view>

using namespace quarry::master;
using quarry::base::ErrorCode;
using quarry::base::Fd;
namespace scoreboard = quarry::scoreboard;

namespace {

Fd some_fd() {
  return Fd(::fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, STDERR_FILENO + 1));
}

bool is_closed_on_exec(int fd) {
  return (::fcntl(fd, F_GETFD) & FD_CLOEXEC) != 0;
}

/// Writes HANDOVER and reads it back, as the new program does. Releases the descriptors of
/// HANDOVER.
Handover handed_over(Handover& handover) {
  auto written = write_handover(handover);
  REQUIRE(written);
  ::setenv(kHandoverVariable, std::to_string(written->release()).c_str(), 1);
  for (auto& socket : handover.sockets) socket.fd->release();
  for (auto& board : handover.boards) board.fd.release();
  for (auto& memory : handover.memories) memory.fd.release();
  for (auto& child : handover.previous_children) {
    child.control.release();
    if (!child.output) continue;
    child.output->out.fd.release();
    child.output->err.fd.release();
  }
  auto taken = take_handover();
  REQUIRE(taken);
  REQUIRE(*taken);
  CHECK(std::getenv(kHandoverVariable) == nullptr);
  return std::move(**taken);
}

/// Reads a handover from a memfd that contains TEXT.
auto taken_from(std::string_view text) {
  Fd fd(::memfd_create("test", 0));
  REQUIRE(::write(fd.get(), text.data(), text.size()) == static_cast<ssize_t>(text.size()));
  ::setenv(kHandoverVariable, std::to_string(fd.release()).c_str(), 1);
  return take_handover();
}

}  // namespace

TEST_CASE("a first start does not take over anything") {
  ::unsetenv(kHandoverVariable);
  const auto taken = take_handover();
  REQUIRE(taken);
  CHECK_FALSE(*taken);
}

TEST_CASE("kept memory arrives with its layout and its writer") {
  Handover handover;
  handover.memories.push_back({"pages www", some_fd(), 3, {1000, 100}});
  const Handover taken = handed_over(handover);
  REQUIRE(taken.memories.size() == 1);
  CHECK(taken.memories[0].name == "pages www");
  CHECK(is_closed_on_exec(taken.memories[0].fd.get()));
  CHECK(taken.memories[0].layout == 3);
  CHECK(taken.memories[0].writer == BoardWriter{1000, 100});
}

TEST_CASE("a board arrives with its layout, its writer and its pool's figures") {
  Handover handover;
  handover.generation = 7;
  scoreboard::PoolState state;
  state.started = 5;
  state.limits.process_manager.assign("dynamic");
  state.backoff_reason.assign("a child \xFF\xFE");
  state.past.clones = std::uint64_t{1} << 53;
  handover.boards.push_back({"pool www", some_fd(), {2, 64, 128, 9}, {1000, 100}, state});
  const Handover taken = handed_over(handover);
  CHECK(taken.generation == 7);
  REQUIRE(taken.boards.size() == 1);
  const InheritedBoard& board = taken.boards[0];
  CHECK(board.service == "pool www");
  CHECK(is_closed_on_exec(board.fd.get()));
  CHECK(board.layout == scoreboard::BoardLayout{2, 64, 128, 9});
  CHECK(board.writer == BoardWriter{1000, 100});
  CHECK(board.state.started == 5);
  CHECK(board.state.backoff_reason.view() == "a child \xFF\xFE");
  CHECK(board.state.past.clones == std::uint64_t{1} << 53);
}

TEST_CASE("a previous child arrives with its slot and an incomplete line, or without either") {
  Handover handover;
  handover.previous_children.push_back(
      {.pid = 12,
       .service = "pool www",
       .generation = 3,
       .asked_at = 4,
       .control = some_fd(),
       .slot = 5,
       .output = CaughtOutput{{some_fd(), "half \xC3"}, {}, false}});
  handover.previous_children.push_back({.pid = 13, .service = "gateway", .control = {}});
  const Handover taken = handed_over(handover);
  REQUIRE(taken.previous_children.size() == 2);
  const PreviousChild& child = taken.previous_children[0];
  CHECK(child.pid == 12);
  CHECK(child.generation == 3);
  CHECK(child.asked_at == 4);
  CHECK(child.slot == 5);
  REQUIRE(child.output);
  CHECK(is_closed_on_exec(child.output->out.fd.get()));
  CHECK(child.output->out.rest == "half \xC3");
  CHECK_FALSE(child.output->err.fd);
  CHECK_FALSE(child.output->is_decorated);
  CHECK_FALSE(taken.previous_children[1].slot);
  CHECK_FALSE(taken.previous_children[1].output);
}

TEST_CASE("figures of another size are dropped, and their layout is kept") {
  const auto taken = taken_from(
      R"({"version":1,"boards":[{"service":"a","fd":-1,"layout":[9,8,7,6],"writer":[0,0],"state":[1,2]}]})");
  REQUIRE(taken);
  CHECK((*taken)->boards[0].layout.version == 9);
  CHECK((*taken)->boards[0].state.started == 0);
  CHECK_FALSE((*taken)->boards[0].state.is_sound());
}

TEST_CASE("an invalid handover is refused without a crash") {
  for (const char* text :
       {"", "[]", R"({"version":2})", R"({"version":1,"boards":[{}]})",
        R"({"version":1,"boards":[7]})",
        R"({"version":1,"boards":[{"fd":-1,"layout":[1],"writer":[],"state":[]}]})",
        R"({"version":1,"previous_children":[{"slot":"x"}]})",
        R"({"version":1,"previous_children":[{"output":{}}]})",
        R"({"version":1,"previous_children":[{"control":99999}]})",
        R"({"version":1,"generation":"x"})"}) {
    CAPTURE(text);
    const auto taken = taken_from(text);
    REQUIRE_FALSE(taken);
    CHECK(taken.error().code == ErrorCode::kInvalid);
  }
}

TEST_CASE("borrowed descriptors are given back unchanged") {
  const Fd socket = some_fd();
  const Fd board = some_fd();
  const Fd out = some_fd();
  Handover handover;
  handover.sockets.push_back({"/run/www.sock", std::make_shared<Fd>(socket.get()), true});
  handover.boards.push_back({"pool www", Fd(board.get()), {}, {}, {}});
  handover.previous_children.push_back({.pid = 1,
                                        .service = "pool www",
                                        .control = {},
                                        .output = CaughtOutput{{Fd(out.get())}, {}, true}});
  REQUIRE(write_handover(handover));
  for (const Fd* fd : {&socket, &board, &out}) CHECK_FALSE(is_closed_on_exec(fd->get()));
  take_back(handover);
  for (const Fd* fd : {&socket, &board, &out}) CHECK(is_closed_on_exec(fd->get()));
  CHECK_FALSE(*handover.sockets[0].fd);
  CHECK_FALSE(handover.previous_children[0].output->out.fd);
}

TEST_CASE("a handover that would not be read is refused") {
  Handover handover;
  handover.notes["long"] = std::string(std::size_t{17} << 20, 'x');
  const auto written = write_handover(handover);
  REQUIRE_FALSE(written);
  CHECK(written.error().code == ErrorCode::kLimit);
}
