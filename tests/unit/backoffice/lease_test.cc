// Tests the rules of the lease, individually and in simulations with random processes.
#include "quarry/backoffice/lease.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <map>
#include <random>
#include <vector>

using namespace quarry::backoffice;
using std::chrono::seconds;

namespace {

constexpr std::int64_t kLeaseTime = 1'800'000'000;

Candidate candidate(Holder current = Holder::kGone, Holder next = Holder::kGone) {
  return {.self = 9,
          .now = kLeaseTime,
          .current = current,
          .next = next,
          .lease_time = seconds(60),
          .may_wait = true};
}

/// Simulates a server whose requests start processes. Each process acts on the result of decide().
class LeaseWorld {
 public:
  LeaseWorld(unsigned seed, bool kills) : random_(seed), kills_(kills) {}

  /// Simulates a server with occasional requests. Ends after SECONDS seconds of simulated time.
  void live(int seconds) {
    for (const std::int64_t end = now_ + seconds; now_ < end; ++now_) {
      end_some();
      wake_sleepers();
      if (below(12) == 0) request();
      if (kills_ && below(40) == 0 && !processes_.empty()) {
        processes_.erase(std::next(processes_.begin(), below(static_cast<int>(processes_.size()))));
      }
      check();
    }
  }

  const std::vector<std::int64_t>& runs() const { return runs_; }
  const std::vector<std::int64_t>& requests() const { return requests_; }
  std::int64_t now() const { return now_; }

 private:
  struct Process {
    bool is_running = false;
    std::int64_t until = 0;  // end of the work or the sleep
  };

  int below(int bound) { return std::uniform_int_distribution<int>(0, bound - 1)(random_); }
  Holder holder(std::int64_t pid) const {
    return processes_.contains(pid) ? Holder::kAlive : Holder::kGone;
  }
  Candidate seen_by(std::int64_t pid) const {
    return {.self = pid,
            .now = now_,
            .current = holder(lease_.current),
            .next = holder(lease_.next),
            .lease_time = seconds(60),
            .may_wait = true};
  }

  void request() {
    requests_.push_back(now_);
    for (int i = below(3); i >= 0; --i) {
      if (decide(lease_, seen_by(0)).turn == Turn::kLeave) return;
      take_turn(++last_pid_);
    }
  }
  void take_turn(std::int64_t pid) {
    const Decision decision = decide(lease_, seen_by(pid));
    if (decision.lease) lease_ = Lease::parse(decision.lease->text());
    switch (decision.turn) {
      case Turn::kLeave:
        processes_.erase(pid);
        break;
      case Turn::kWait:
        processes_[pid] = {.is_running = false, .until = now_ + decision.sleep.count()};
        break;
      case Turn::kRun:
        processes_[pid] = {.is_running = true, .until = now_ + below(kills_ ? 90 : 50)};
        runs_.push_back(now_);
    }
  }
  void end_some() {
    std::erase_if(processes_, [&](const auto& one) {
      return one.second.is_running && one.second.until <= now_;
    });
  }
  void wake_sleepers() {
    std::vector<std::int64_t> awake;
    for (const auto& [pid, process] : processes_) {
      if (!process.is_running && process.until <= now_) awake.push_back(pid);
    }
    for (const std::int64_t pid : awake) take_turn(pid);
  }
  void check() const {
    const auto running =
        std::ranges::count_if(processes_, [](const auto& one) { return one.second.is_running; });
    REQUIRE(running <= 1);
    REQUIRE(processes_.size() - static_cast<std::size_t>(running) <= 1);
    if (runs_.size() > 1) REQUIRE(runs_.back() - runs_[runs_.size() - 2] >= 60);
  }

  std::mt19937 random_;
  const bool kills_;
  std::int64_t now_ = kLeaseTime;
  std::int64_t last_pid_ = 100;
  Lease lease_;
  std::map<std::int64_t, Process> processes_;
  std::vector<std::int64_t> runs_;
  std::vector<std::int64_t> requests_;
};

}  // namespace

TEST_CASE("a lease is four numbers, and an invalid one is 0") {
  CHECK(Lease::parse("25665 1795485741 25681 1795485801") ==
        Lease{25665, 1795485741, 25681, 1795485801});
  CHECK(Lease::parse("25665 1795485741 0 0").text() == "25665 1795485741 0 0");
  CHECK(Lease::parse("").text() == "0 0 0 0");
  CHECK(Lease::parse("7") == Lease{7, 0, 0, 0});
  CHECK(Lease::parse("x 1 2 3") == Lease{});
  CHECK(Lease::parse("-4 99999999999999999999999 5 6") == Lease{0, 0, 5, 6});
}

TEST_CASE("without a holder, a run begins for a minute") {
  for (const Lease& lease :
       {Lease{}, Lease{5, kLeaseTime - 1, 0, 0}, Lease{5, kLeaseTime, 6, kLeaseTime - 1},
        Lease{5, kLeaseTime - 10, 6, kLeaseTime + 50}}) {
    CAPTURE(lease.text());
    const Decision decision = decide(lease, candidate());
    CHECK(decision.turn == Turn::kRun);
    CHECK(decision.lease == Lease{9, kLeaseTime + 60, 0, 0});
  }
}

TEST_CASE("a second process becomes the next holder and sleeps until the lease expires") {
  const Lease lease{5, kLeaseTime + 20, 0, 0};
  for (const Holder holder : {Holder::kAlive, Holder::kGone, Holder::kElsewhere}) {
    const Decision decision = decide(lease, candidate(holder));
    CHECK(decision.turn == Turn::kWait);
    CHECK(decision.sleep == seconds(20));
    CHECK(decision.lease == Lease{5, kLeaseTime + 20, 9, kLeaseTime + 80});
  }
  Candidate impatient = candidate();
  impatient.may_wait = false;
  CHECK(decide(lease, impatient).turn == Turn::kLeave);
  CHECK_FALSE(decide(lease, impatient).lease);
}

TEST_CASE("a third process exits, and writes nothing") {
  const Lease lease{5, kLeaseTime + 20, 6, kLeaseTime + 80};
  for (const Holder next : {Holder::kAlive, Holder::kElsewhere}) {
    const Decision decision = decide(lease, candidate(Holder::kAlive, next));
    CHECK(decision.turn == Turn::kLeave);
    CHECK_FALSE(decision.lease);
  }
  CHECK(decide(lease, candidate(Holder::kAlive, Holder::kGone)).turn == Turn::kWait);
}

TEST_CASE("a holder that exceeds its lease is waited for, unless it is on another host") {
  const Lease lease{5, kLeaseTime - 100, 9, kLeaseTime - 40};
  const Decision decision = decide(lease, candidate(Holder::kAlive, Holder::kAlive));
  CHECK(decision.turn == Turn::kWait);
  CHECK(decision.sleep == seconds(1));
  CHECK(decision.lease == Lease{5, kLeaseTime - 100, 9, kLeaseTime + 61});
  CHECK(decide(lease, candidate(Holder::kElsewhere, Holder::kAlive)).turn == Turn::kRun);
}

TEST_CASE("a lease that lasts for days is from another clock and blocks no process") {
  const Lease lease{5, kLeaseTime + 90'000, 6, kLeaseTime + 90'060};
  CHECK(decide(lease, candidate()).turn == Turn::kRun);
  CHECK(decide(lease, candidate(Holder::kElsewhere, Holder::kElsewhere)).turn == Turn::kRun);
  CHECK(decide(Lease{INT64_MAX, INT64_MAX, INT64_MAX, INT64_MAX}, candidate()).turn == Turn::kRun);
}

TEST_CASE("one run at a time, one a minute, and after every request one within a minute") {
  for (unsigned seed = 1; seed <= 300; ++seed) {
    CAPTURE(seed);
    LeaseWorld world(seed, false);
    world.live(2000);
    for (const std::int64_t request : world.requests()) {
      if (request + 60 >= world.now()) continue;
      const auto run = std::ranges::lower_bound(world.runs(), request);
      REQUIRE(run != world.runs().end());
      REQUIRE(*run - request <= 60);
    }
  }
}

TEST_CASE(
    "the same with processes that are killed or work too long, except the run after each request") {
  for (unsigned seed = 1; seed <= 300; ++seed) {
    CAPTURE(seed);
    LeaseWorld world(seed, true);
    world.live(2000);
    CHECK(world.runs().size() > 5);
  }
}
