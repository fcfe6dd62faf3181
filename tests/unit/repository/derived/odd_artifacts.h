// Helpers for tests with artifacts that fossil does not create. The tests compare our derived
// tables with fossil's.
#pragma once

#include <doctest/doctest.h>
#include <fmt/core.h>

#include <algorithm>
#include <string>
#include <vector>

#include "quarry/artifact/digest.h"
#include "world.h"

namespace quarry::repository::test {

/// Returns CARDS with their Z card.
inline std::string finish(const std::string& cards) {
  return cards + "Z " + artifact::md5_hex(cards) + "\n";
}

inline std::string hash(const std::string& content) {
  return std::string(name_of(content).str());
}

/// Returns a control artifact of the given DAY in February that sets TAG ("+name value") on TARGET.
inline std::string control(int day, const std::string& target, const std::string& tag) {
  const std::string name = tag.substr(0, tag.find(' '));
  return finish(fmt::format("D 2021-02-{:02d}T00:00:00\nT {} {} {}\nU bob\n", day, name,
                            hash(target), tag.substr(tag.find(' ') + 1)));
}

inline const std::string kId(40, '3');

/// For each of ORDERS, stores its artifacts in a new repository and calls CHECK with that
/// repository.
template <typename Check>
void in_orders(const std::vector<std::vector<std::string>>& orders, Check&& check) {
  for (std::size_t order = 0; order < orders.size(); ++order) {
    CAPTURE(order);
    World world;
    world.put_all(orders[order]);
    check(world);
  }
}

/// Calls in_orders() with all permutations of ARTIFACTS.
template <typename Check>
void in_any_order(std::vector<std::string> artifacts, Check&& check) {
  std::ranges::sort(artifacts);
  do in_orders({artifacts}, check);
  while (std::ranges::next_permutation(artifacts).found);
}

}  // namespace quarry::repository::test
