#include "quarry/base/ini.h"

#include <doctest/doctest.h>
#include <fmt/core.h>

#include <string>
#include <vector>

using namespace quarry::base;

namespace {

/// Returns the sections and entries of TEXT with their line numbers. TEXT must be valid.
std::string read(const std::string& text) {
  const IniFile file = parse_ini(text);
  CHECK(file.mistakes.empty());
  std::string all;
  for (const IniSection& section : file.sections) {
    all += fmt::format("{}[{}]", section.line, section.name);
    for (const IniEntry& each : section.entries) {
      all += fmt::format(" {}:{}={}|", each.line, each.key, each.value);
    }
  }
  return all;
}

}  // namespace

TEST_CASE("sections, keys and values keep their order and line numbers") {
  CHECK(read("; head\n\n[global]\n a = 1\nb=two words \n[pool]\r\nx = y\r\n") ==
        "3[global] 4:a=1| 5:b=two words|6[pool] 7:x=y|");
  CHECK(read("[s]\nlist[] = a\nother = 1\nlist[] = b\n") ==
        "1[s] 2:list[]=a| 3:other=1| 4:list[]=b|");
  CHECK(read("\xEF\xBB\xBF[after a byte order mark]\n") == "1[after a byte order mark]");
}

TEST_CASE("comments end a value only after a space, and never inside quotes") {
  CHECK(read("[s] ; why\n# a comment\na = 1 ; one\nb = x;y#z\nc = \"x ; y # z\" ; end\nd =\n"
             "e = ; none\n") == "1[s] 3:a=1| 4:b=x;y#z| 5:c=x ; y # z| 6:d=| 7:e=|");
}

TEST_CASE("quoted values keep spaces, equal signs, quotes, backslashes and any length") {
  const std::string lengthy(100000, 'x');
  CHECK((read("[s]\na = \"  k = v  \"\nb = \"say \\\"hi\\\" C:\\\\x \\n\"\nc = " + lengthy +
              "\n") == "1[s] 2:a=  k = v  | 3:b=say \"hi\" C:\\x \\n| 4:c=" + lengthy + "|"));
}

TEST_CASE("a key that the caller names may occur several times in its section") {
  const auto is_list = [](std::string_view section, std::string_view key) {
    return section == "a" && key == "x";
  };
  const IniFile file = parse_ini("[a]\nx = 1\nx = 2\ny = 1\ny = 2\n[b]\nx = 1\nx = 2\n", is_list);
  REQUIRE(file.sections.size() == 2);
  CHECK(file.sections[0].entries.size() == 3);
  REQUIRE(file.mistakes.size() == 2);
  CHECK(file.mistakes[0].message == "y is already set on line 4");
  CHECK(file.mistakes[1].message == "x is already set on line 7");
}

TEST_CASE("every mistake is found in one pass, with its line") {
  const IniFile file = parse_ini(
      "early = 1\n[good]\nno equals sign\n = 1\na = 1\na = 2\nb = \"open\nc = \"x\" y\n[]\nq = 1\n"
      "[good]\n[open\nd = \"\\\"\n");
  std::vector<int> lines;
  for (const IniMistake& mistake : file.mistakes) lines.push_back(mistake.line);
  CHECK(lines == std::vector<int>{1, 3, 4, 6, 7, 8, 9, 11, 12});
  CHECK(file.mistakes[3].message == "a is already set on line 5");
  CHECK(file.mistakes[7].message == "[good] already exists on line 2");
  CHECK(parse_ini(std::string("[s]\na = x\0y\n", 12)).mistakes.size() == 1);
}
