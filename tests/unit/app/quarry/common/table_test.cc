#include "common/table.h"

#include <doctest/doctest.h>

using namespace quarry::app;
using Lines = std::vector<std::string>;

TEST_CASE("columns are as wide as their widest cell, and numbers are right-aligned") {
  Table table({"NAME", ">COUNT", "NOTE"});
  table.add({"www", "12", "x"});
  table.add({"a longer one", "123456", ""});
  table.add({"\xC3\xA4\xC3\xB6", "1", "two letters"});
  CHECK(table.lines() == Lines{"NAME           COUNT  NOTE",  //
                               "www               12  x",     //
                               "a longer one  123456",        //
                               "\xC3\xA4\xC3\xB6                 1  two letters"});
}

TEST_CASE("a cell cannot move the cursor, start a line or fill the screen") {
  Table table({"URI"});
  table.add({"/\x1b[2J\r\n\x9b\xC2\x9B"});
  table.add({std::string(5000, 'x')});
  const Lines lines = table.lines();
  CHECK(lines[1] == "/\\x1b[2J\\x0d\\x0a\\x9b\\xc2\\x9b");
  CHECK(lines[2].size() < 200);
}

TEST_CASE("amounts are shortened to four characters") {
  CHECK(short_amount(0) == "0");
  CHECK(short_amount(0.25) == "0.2");
  CHECK(short_amount(7) == "7");
  CHECK(short_amount(999) == "999");
  CHECK(short_amount(1024) == "1.0K");
  CHECK(short_amount(1536) == "1.5K");
  CHECK(short_amount(20.4 * 1024) == "20K");
  CHECK(short_amount(999.6 * 1024) == "1.0M");
  CHECK(short_amount(3.0 * 1024 * 1024 * 1024) == "3.0G");
  CHECK(short_amount(1e30).ends_with("P"));
}

TEST_CASE("times are shown in a suitable unit") {
  CHECK(short_time(0) == "0us");
  CHECK(short_time(999) == "999us");
  CHECK(short_time(1500) == "1.5ms");
  CHECK(short_time(59'900'000) == "59.9s");
  CHECK(short_time(60'000'000) == "1m0s");
  CHECK(short_time(3'599'000'000) == "59m59s");
  CHECK(short_time(3'600'000'000) == "1h0m");
  CHECK(short_time(86'400'000'000) == "1d0h");
}
