#include "comment.h"

#include <doctest/doctest.h>
#include <fmt/core.h>

#include <string>
#include <vector>

using namespace quarry;
using namespace quarry::changes;

namespace {

RolledBackCheckIn rolled_back(const std::string& comment, int number = 1) {
  return {
      .id = *ChangeSetId::parse(fmt::format("{:08x}ffffffff", number)),
      .name = *artifact::HashName::parse(fmt::format("{:010x}{}", number, std::string(54, 'e'))),
      .comment = comment};
}

std::string said(const std::string& given, const std::vector<RolledBackCheckIn>& all) {
  return comment_of(given, all);
}

}  // namespace

TEST_CASE("a comment is used as given, and a missing one as fossil writes it") {
  CHECK(said("Mend it\n\nAt last.", {}) == "Mend it\n\nAt last.");
  CHECK(said("", {}) == "(no comment)");
  CHECK(said(" \n\t", {}) == "(no comment)");
}

TEST_CASE("the first line of a rollback's comment describes the change sets") {
  CHECK(said("", {rolled_back("Say hello")}) == "Roll back \"Say hello\" (00000001 [0000000001])");
  CHECK(said(" \n", {rolled_back("\n  Say hello \r\n\r\nAnd more.")}) ==
        "Roll back \"Say hello\" (00000001 [0000000001])");
  CHECK(said("It broke the build.", {rolled_back("Say hello")}) ==
        "It broke the build.\n\nRolls back \"Say hello\" (00000001 [0000000001])");
}

TEST_CASE("several change sets are counted, and all are listed unless there are too many") {
  CHECK(said("", {rolled_back("one", 1), rolled_back("two", 2)}) ==
        "Roll back 2 change sets: \"one\" (00000001 [0000000001]) and "
        "\"two\" (00000002 [0000000002])");
  std::vector<RolledBackCheckIn> many;
  for (int i = 1; i <= 3; ++i) many.push_back(rolled_back("it", i));
  CHECK(said("", many) ==
        "Roll back 3 change sets: \"it\" (00000001 [0000000001]), "
        "\"it\" (00000002 [0000000002]) and \"it\" (00000003 [0000000003])");
  for (int i = 4; i <= 60; ++i) many.push_back(rolled_back("it", i));
  const std::string text = said("", many);
  CHECK(text.starts_with("Roll back 60 change sets: \"it\" (00000001 "));
  CHECK(text.ends_with(", \"it\" (00000032 [0000000032]) and 10 more"));
}

TEST_CASE("a long line is cut between characters") {
  const std::string line(100, 'x');
  CHECK(said("", {rolled_back(line)}).find(line + "\" (") != std::string::npos);
  CHECK(said("", {rolled_back(line + "y")}).find(line + "…\" (") != std::string::npos);
  const std::string almost(99, 'x');
  CHECK(said("", {rolled_back(almost + "ü and more")}).find(almost + "…\" (") != std::string::npos);
}
