#include "child/child_output.h"

#include <doctest/doctest.h>
#include <unistd.h>

#include <array>
#include <string>
#include <utility>

#include "quarry/base/log.h"

using namespace quarry;
using namespace quarry::master;

namespace {

/// Returns what the master logs, without the times, if a child writes TEXT to standard error.
std::string logged(std::string text, bool is_decorated = true) {
  const base::EventBasePtr loop(event_base_new());
  auto pipes = OutputPipes::make();
  REQUIRE(pipes);
  REQUIRE(::write(pipes->err.writing.get(), text.data(), text.size()) ==
          static_cast<ssize_t>(text.size()));
  auto log = base::make_pipe();
  REQUIRE(log);
  base::set_log_descriptor(log->writing.get());
  ChildOutput output(loop.get(), "[execution www] child 7",
                     {{}, {std::move(pipes->err.reading), {}}, is_decorated});
  output.finish();
  base::set_log_descriptor(STDERR_FILENO);
  log->writing.reset();
  std::array<char, 8192> buffer{};
  const ssize_t size = ::read(log->reading.get(), buffer.data(), buffer.size());
  std::string lines(buffer.data(), static_cast<std::size_t>(size));
  for (std::size_t at = 0; (at = lines.find("[20", at)) != std::string::npos;) {
    lines.erase(at, lines.find("] ", at) + 2 - at);
  }
  return lines;
}

}  // namespace

TEST_CASE("a line that a child has logged keeps its level") {
  constexpr char kTime[] = "[2026-03-04T05:06:07.123456Z] ";
  for (const std::string level : {"notice", "warning", "error", "alert"}) {
    CHECK(logged(kTime + level + ": cannot do it\n") ==
          level + ": [execution www] child 7: cannot do it\n");
  }
  CHECK(logged(std::string(kTime) + "debug: it is so\n" + kTime + "error: x\n") ==
        "error: [execution www] child 7: x\n");
}

TEST_CASE("other output of a child is logged as a warning") {
  for (const std::string text : {"error: x", "[2026-03-04T05:06:07.123456Z] fatal: x", "[",
                                 "[2026-03-04T05:06:07.123456Z] error", "a Z] error: x"}) {
    CHECK(logged(text + "\n").contains("warning: [execution www] child 7 said into stderr: \""));
  }
  CHECK(logged("[2026-03-04T05:06:07.123456Z] error: x\n", false).contains("error: x\n"));
}
