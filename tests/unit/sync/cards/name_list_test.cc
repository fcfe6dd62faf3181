#include "cards/name_list.h"

#include <doctest/doctest.h>
#include <fmt/core.h>

#include <string>
#include <vector>

using namespace quarry::sync;

TEST_CASE("a name that was added is found, with all its flags") {
  for (const int count : {0, 1, 3, 8, 9, 500}) {
    CAPTURE(count);
    std::vector<std::string> names;
    for (int i = 0; i < count; ++i) names.push_back(fmt::format("{:03}", (i * 7) % 501));
    NameList list;
    for (const std::string& name : names) list.add(name, 1);
    if (count > 0) list.add(names.front(), 2);
    list.seal();
    CHECK(list.size() == names.size());
    for (const std::string& name : names) {
      REQUIRE(list.find(name) != nullptr);
      CHECK(list.find(name)->flags == (name == names.front() ? 3 : 1));
    }
    CHECK(list.find("x") == nullptr);
    CHECK(list.find("") == nullptr);
  }
}
