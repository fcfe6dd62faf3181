// Tests the list of received artifacts that a hook reads from its standard input.
#include "quarry/repository/received_list.h"

#include <doctest/doctest.h>
#include <fmt/core.h>

#include <string>
#include <vector>

#include "quarry/repository/arrivals.h"
#include "world.h"

using namespace quarry;
using namespace quarry::repository;
using namespace quarry::repository::test;

namespace {

constexpr std::size_t kAll = 1 << 20;
constexpr std::int64_t kHour = 3600 * 1000;

class ListWorld : public World {
 public:
  ListWorld() { REQUIRE(Arrivals(*repository).prepare()); }

  std::int64_t last() {
    const auto snapshot = repository->snapshot();
    const auto number = ReceivedList(*repository).last_receipt();
    REQUIRE(number);
    return *number;
  }
  std::int64_t first_to_report(std::int64_t after) {
    const auto snapshot = repository->snapshot();
    const auto number = ReceivedList(*repository).first_to_report(after);
    REQUIRE(number);
    return *number;
  }
  std::string lines(std::int64_t after, std::int64_t up_to, std::size_t most = kAll) {
    const auto snapshot = repository->snapshot();
    const auto found = ReceivedList(*repository).lines(after, up_to, most);
    REQUIRE(found);
    return *found;
  }
};

std::string hash_of(const std::string& content) {
  return std::string(name_of(content).str());
}

}  // namespace

TEST_CASE("exactly the requested range of requests is listed") {
  ListWorld world;
  const std::int64_t before = world.last();
  for (const char* content : {"one", "two", "three"}) world.put(content);
  CHECK(world.lines(before, before + 1) == hash_of("one") + " unknown\n");
  CHECK(world.lines(before + 1, before + 3) ==
        hash_of("two") + " unknown\n" + hash_of("three") + " unknown\n");
}

TEST_CASE("a list that is too long ends at the end of a line, with a mark") {
  ListWorld world;
  const std::int64_t before = world.last();
  for (int i = 0; i < 20; ++i) world.put(fmt::format("content {}", i));
  const std::string all = world.lines(before, before + 20);
  for (const std::size_t most : {std::size_t{0}, std::size_t{1}, all.size() / 2, all.size() - 1}) {
    const std::string cut = world.lines(before, before + 20, most);
    REQUIRE(cut.ends_with("...\n"));
    const std::string kept = cut.substr(0, cut.size() - 4);
    CHECK(kept.size() <= most);
    CHECK(all.starts_with(kept));
    CHECK((kept.empty() || kept.ends_with('\n')));
  }
  CHECK(world.lines(before, before + 20, all.size()) == all);
}

TEST_CASE("a late hook gets the last day, counted from the last request") {
  ListWorld world;
  world.clock.advance(kHour);  // one hour after the creation of the repository
  std::vector<std::int64_t> numbers;
  for (int i = 0; i < 6; ++i) {
    world.put(fmt::format("content {}", i));
    numbers.push_back(world.last());
    world.clock.advance(10 * kHour);
  }
  // The last receipt is from hour 50. The list begins after the third receipt, which is from hour
  // 20 and therefore older than a day.
  CHECK(world.first_to_report(numbers[0]) == numbers[2]);
  CHECK(world.lines(world.first_to_report(numbers[0]), world.last()).find(hash_of("content 3")) ==
        0);
  CHECK(world.first_to_report(numbers[4]) == numbers[4]);
  CHECK(world.first_to_report(world.last()) == world.last());
}

TEST_CASE("the first report does not include the creation of the repository") {
  ListWorld world;
  const std::int64_t first = world.last();
  CHECK(world.first_to_report(0) == first);
  world.put("news");
  CHECK(world.lines(world.first_to_report(0), world.last()) == hash_of("news") + " unknown\n");
}
