#include "quarry/base/ini.h"

#include <doctest/doctest.h>

#include <string>

using namespace quarry::base;

TEST_CASE("sections, keys and values keep their order and line numbers") {
  const IniFile file = parse_ini("; head\n\n[global]\n a = 1\nb=two words \n[pool]\r\nx = y\r\n");
  CHECK(file.mistakes.empty());
  REQUIRE(file.sections.size() == 2);
  CHECK(file.sections[0].name == "global");
  CHECK(file.sections[0].line == 3);
  REQUIRE(file.sections[0].entries.size() == 2);
  CHECK(file.sections[0].entries[0].key == "a");
  CHECK(file.sections[0].entries[1].value == "two words");
  CHECK(file.sections[0].entries[1].line == 5);
  CHECK(file.sections[1].name == "pool");
  CHECK(file.sections[1].entries[0].value == "y");
}

TEST_CASE("comments end a value only after a space, and never inside quotes") {
  const IniFile file = parse_ini(
      "[s] ; why\n# a comment\na = 1 ; one\nb = x;y#z\nc = \"x ; y # z\" ; end\nd =\ne = ; none\n");
  CHECK(file.mistakes.empty());
  REQUIRE(file.sections.size() == 1);
  const auto& entries = file.sections[0].entries;
  REQUIRE(entries.size() == 5);
  CHECK(entries[0].value == "1");
  CHECK(entries[1].value == "x;y#z");
  CHECK(entries[2].value == "x ; y # z");
  CHECK(entries[3].value.empty());
  CHECK(entries[4].value.empty());
}

TEST_CASE("quoted values keep spaces, equal signs, quotes, backslashes and any length") {
  const std::string lengthy(100000, 'x');
  const IniFile file = parse_ini(
      "[s]\na = \"  k = v  \"\nb = \"say \\\"hi\\\" C:\\\\x \\n\"\nc = " + lengthy + "\n");
  CHECK(file.mistakes.empty());
  const auto& entries = file.sections[0].entries;
  CHECK(entries[0].value == "  k = v  ");
  CHECK(entries[1].value == "say \"hi\" C:\\x \\n");
  CHECK(entries[2].value == lengthy);
}

TEST_CASE("every mistake is found in one pass, with its line") {
  const IniFile file = parse_ini(
      "early = 1\n[good]\nno equals sign\n = 1\na = 1\na = 2\nb = \"open\nc = \"x\" y\n[]\nq = 1\n"
      "[good]\n[open\nd = \"\\\"\n");
  std::vector<int> lines;
  for (const IniMistake& mistake : file.mistakes) lines.push_back(mistake.line);
  CHECK(lines == std::vector<int>{1, 3, 4, 6, 7, 8, 9, 11, 12});
  CHECK(file.mistakes[3].message == "a was set on line 5 already");
  CHECK(file.mistakes[7].message == "[good] was begun on line 2 already");
}

TEST_CASE("a key that ends in [] is a list") {
  const IniFile file = parse_ini("[s]\nlist[] = a\nother = 1\nlist[] = b\n");
  CHECK(file.mistakes.empty());
  REQUIRE(file.sections[0].entries.size() == 3);
  CHECK(file.sections[0].entries[0].value == "a");
  CHECK(file.sections[0].entries[2].key == "list[]");
  CHECK(file.sections[0].entries[2].value == "b");
}

TEST_CASE("a NUL is a mistake, and a byte order mark is skipped") {
  CHECK(parse_ini(std::string("[s]\na = x\0y\n", 12)).mistakes.size() == 1);
  CHECK(parse_ini("\xEF\xBB\xBF[s]\n").sections.size() == 1);
}
