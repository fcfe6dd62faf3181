#include "fair_queue.h"

#include <doctest/doctest.h>

#include <string>
#include <vector>

namespace {

struct Item {
  std::string network;
  std::string name;
};
using Queue = quarry::pages::FairQueue<Item>;

/// Adds items with NAMES in this order; the first letter of each is its network.
void push(Queue& queue, const std::vector<std::string>& names) {
  for (const std::string& name : names) queue.push({name.substr(0, 1), name});
}

/// Takes all items whose network is not HELD_BACK, in the order of their turns.
std::vector<std::string> taken_from(Queue& queue, const std::string& held_back = "") {
  std::vector<std::string> taken;
  while (auto item = queue.take([&](const std::string& each) { return each != held_back; })) {
    taken.push_back(item->name);
  }
  return taken;
}

}  // namespace

TEST_CASE("networks take turns, and each of them is served in order") {
  Queue queue;
  push(queue, {"a1", "a2", "a3", "a4", "b1", "b2", "c1"});
  CHECK(queue.size() == 7);
  CHECK(taken_from(queue) == std::vector<std::string>{"a1", "b1", "c1", "a2", "b2", "a3", "a4"});
  CHECK(queue.size() == 0);
}

TEST_CASE("a network that has just had its turn comes after all others") {
  Queue queue;
  push(queue, {"a1", "a2", "b1"});
  CHECK(queue.take([](const std::string&) { return true; })->name == "a1");
  push(queue, {"c1"});
  CHECK(taken_from(queue) == std::vector<std::string>{"b1", "a2", "c1"});
}

TEST_CASE("a network that is not eligible keeps its turn") {
  Queue queue;
  push(queue, {"a1", "a2", "b1", "b2"});
  CHECK(taken_from(queue, "a") == std::vector<std::string>{"b1", "b2"});
  push(queue, {"b3"});
  CHECK(taken_from(queue) == std::vector<std::string>{"a1", "b3", "a2"});
}

TEST_CASE("when there are too many, the last item of the longest line is dropped") {
  Queue queue;
  push(queue, {"a1", "a2", "a3", "b1", "b2", "c1"});
  CHECK(queue.take_last_of_longest().name == "a3");
  CHECK(queue.take_last_of_longest().name == "b2");
  CHECK(queue.take_last_of_longest().name == "a2");
  CHECK(queue.take_last_of_longest().name == "c1");
  CHECK(queue.size() == 2);
  CHECK(taken_from(queue) == std::vector<std::string>{"a1", "b1"});
}

TEST_CASE("items can be removed") {
  Queue queue;
  push(queue, {"a1", "b1", "b2"});
  queue.remove_if([](const Item& each) { return each.name.ends_with('1'); });
  CHECK(queue.size() == 1);
  CHECK(taken_from(queue) == std::vector<std::string>{"b2"});
}
