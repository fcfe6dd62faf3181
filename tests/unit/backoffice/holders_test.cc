#include "quarry/backoffice/holders.h"

#include <doctest/doctest.h>
#include <sys/wait.h>
#include <unistd.h>
#include <csignal>

#include <string>

#include "eventually.h"
#include "fake_processes.h"
#include "quarry/base/spawn.h"

using namespace quarry::backoffice;

TEST_CASE("the row is parsed as it was written, and an invalid row names no holder") {
  const Holders holders = Holders::parse("boot/1 7 100 8 200");
  CHECK(holders.text() == "boot/1 7 100 8 200");
  CHECK(Holders::parse(holders.text()) == holders);
  for (const std::string text : {"", "boot/1", "boot/1 x y", "boot/1 -7 100", "   ",
                                 "boot/1 99999999999999999999 1", "boot/1 7x 100"}) {
    FakeProcesses processes;
    CHECK(Holders::parse(text).state_of(7, processes) == Holder::kElsewhere);
  }
  CHECK(Holders::parse(std::string(5000, 'x')).text().size() < 150);
}

TEST_CASE("a holder's state depends on its host, its process id and its start time") {
  FakeProcesses processes;
  processes.alive = {{7, 100}, {9, 5}};
  const Holders holders = Holders::parse("boot/1 7 100 8 200");
  CHECK(holders.state_of(0, processes) == Holder::kGone);
  CHECK(holders.state_of(7, processes) == Holder::kAlive);
  CHECK(holders.state_of(8, processes) == Holder::kGone);
  // Processes 9 and 10 are not listed, as if fossil had written the lease.
  CHECK(holders.state_of(9, processes) == Holder::kAlive);
  CHECK(holders.state_of(10, processes) == Holder::kElsewhere);
  // The process ID has been reused.
  processes.alive = {{7, 101}};
  CHECK(holders.state_of(7, processes) == Holder::kGone);
  processes.alive = {{7, 100}};
  processes.name = "boot/2";
  CHECK(holders.state_of(7, processes) == Holder::kElsewhere);
  CHECK(holders.state_of(8, processes) == Holder::kElsewhere);
}

TEST_CASE("writing a holder keeps the entry of the other one") {
  FakeProcesses processes;
  processes.alive = {{7, 100}, {9, 300}};
  const Lease lease{7, 1000, 9, 2000};
  const Holders known = Holders::parse("boot/1 7 100 8 200");
  CHECK(known.with(lease, 9, processes).text() == "boot/1 7 100 9 300");
  // If the other process is not listed, or is listed with another host, its entry becomes "0 0".
  CHECK(Holders::parse("").with(lease, 9, processes).text() == "boot/1 0 0 9 300");
  CHECK(Holders::parse("boot/2 7 100 8 200").with(lease, 9, processes).text() ==
        "boot/1 0 0 9 300");
  CHECK(known.with({9, 1000, 0, 0}, 9, processes).text() == "boot/1 9 300 0 0");
}

TEST_CASE("real processes are seen, and zombies count as ended") {
  const ProcessTable& processes = real_processes();
  CHECK(processes.host().find(' ') == std::string::npos);
  CHECK(processes.host().find('/') != std::string::npos);
  CHECK(processes.host() == processes.host());
  const auto child = quarry::base::spawn({.words = {"sleep", "600"}});
  REQUIRE(child);
  const auto began = processes.started(*child);
  REQUIRE(began);
  CHECK(*began > 0);
  CHECK(processes.started(*child) == began);
  CHECK(processes.started(::getpid()).value_or(*began) <= *began);
  ::kill(*child, SIGKILL);
  CHECK(eventually([&] { return !processes.started(*child); }));
  ::waitpid(*child, nullptr, 0);
  CHECK_FALSE(processes.started(*child));
  for (const std::int64_t none : {std::int64_t{0}, std::int64_t{-1}, std::int64_t{1} << 40}) {
    CHECK_FALSE(processes.started(none));
  }
}
