#include "job/job_places.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <string>
#include <vector>

using namespace quarry::master;
using namespace std::chrono_literals;

namespace {

/// A service whose jobs are strings.
class FakeJobs final : public JobPlaces::Taker {
 public:
  FakeJobs(JobPlaces& places, std::vector<std::string>& begun) : places_(places), begun_(begun) {
    places_.join(*this);
  }
  ~FakeJobs() override { places_.leave(*this); }
  FakeJobs(const FakeJobs&) = delete;
  FakeJobs& operator=(const FakeJobs&) = delete;

  void wait(const std::string& name, int second, bool is_new = true) {
    waiting_.push_back({{is_new, std::chrono::steady_clock::time_point() + second * 1s}, name});
    std::ranges::sort(waiting_, {}, &Waiting::turn);
  }
  void end_one() {
    --running_;
    places_.share_out();
  }

  std::size_t running() const override { return running_; }
  std::optional<JobTurn> first_waiting() const override {
    if (waiting_.empty() || running_ >= limit) return std::nullopt;
    return waiting_.front().turn;
  }
  bool take_place() override {
    if (is_broken) return false;
    begun_.push_back(waiting_.front().name);
    waiting_.erase(waiting_.begin());
    ++running_;
    return true;
  }

  std::size_t limit = 100;
  bool is_broken = false;

 private:
  struct Waiting {
    JobTurn turn;
    std::string name;
  };

  JobPlaces& places_;
  std::vector<std::string>& begun_;
  std::vector<Waiting> waiting_;
  std::size_t running_ = 0;
};

struct JobWorld {
  explicit JobWorld(std::size_t limit) : places(limit), one(places, begun), other(places, begun) {}

  std::vector<std::string> begun;
  JobPlaces places;
  FakeJobs one;
  FakeJobs other;
};

using Names = std::vector<std::string>;

}  // namespace

TEST_CASE("the limit on running jobs applies to all services together") {
  JobWorld world(3);
  for (int i = 0; i < 4; ++i) {
    world.one.wait("a" + std::to_string(i), i);
    world.other.wait("b" + std::to_string(i), 10 + i);
  }
  world.places.share_out();
  CHECK(world.begun == Names{"a0", "a1", "a2"});
  CHECK_FALSE(world.places.has_room());
  world.one.end_one();
  world.one.end_one();
  CHECK(world.begun == Names{"a0", "a1", "a2", "a3", "b0"});
}

TEST_CASE("a free place goes to the job that has waited longest, in any service") {
  JobWorld world(1);
  world.one.wait("first", 0);
  world.places.share_out();
  world.one.wait("third", 3);
  world.other.wait("second", 2);
  world.other.wait("fourth", 4);
  for (int i = 0; i < 3; ++i) (world.one.running() > 0 ? world.one : world.other).end_one();
  CHECK(world.begun == Names{"first", "second", "third", "fourth"});
}

TEST_CASE("paused jobs continue before new ones start") {
  JobWorld world(1);
  world.one.wait("new", 1);
  world.other.wait("paused", 5, false);
  world.places.share_out();
  CHECK(world.begun == Names{"paused"});
}

TEST_CASE("a service that is at its own limit, or fails to start jobs, does not block others") {
  JobWorld world(4);
  world.one.limit = 1;
  for (int i = 0; i < 3; ++i) world.one.wait("a" + std::to_string(i), i);
  world.other.wait("b", 9);
  world.places.share_out();
  CHECK(world.begun == Names{"a0", "b"});
  CHECK(world.places.has_room());
  world.one.limit = 3;
  world.one.is_broken = true;
  world.other.wait("c", 9);
  world.places.share_out();
  CHECK(world.begun == Names{"a0", "b", "c"});
}

TEST_CASE("without a limit, all jobs run that their services permit") {
  JobWorld world(0);
  for (int i = 0; i < 50; ++i) world.one.wait("a", i);
  world.other.wait("b", 1);
  world.places.share_out();
  CHECK(world.one.running() == 50);
  CHECK(world.other.running() == 1);
}
