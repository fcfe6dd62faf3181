#include "child/child_output.h"

#include <doctest/doctest.h>

#include <string>
#include <vector>

using quarry::master::OutputLines;

namespace {

/// Adds PARTS one after the other, and returns the resulting lines. An incomplete last line is
/// returned in angle brackets.
std::vector<std::string> lines_of(const std::vector<std::string>& parts, std::size_t limit = 8) {
  OutputLines output(limit);
  std::vector<std::string> lines;
  for (const std::string& part : parts) {
    output.add(part, [&](std::string_view line) { lines.emplace_back(line); });
  }
  if (const std::string rest = output.take_rest(); !rest.empty()) lines.push_back("<" + rest + ">");
  return lines;
}

using Lines = std::vector<std::string>;

}  // namespace

TEST_CASE("lines are reported when complete, however their bytes arrive") {
  CHECK(lines_of({"one\ntwo\n"}) == Lines{"one", "two"});
  CHECK(lines_of({"o", "ne", "\nt", "wo", "\n"}) == Lines{"one", "two"});
  CHECK(lines_of({"\n\nx\n"}) == Lines{"", "", "x"});
}

TEST_CASE("output after the last newline is kept for the end") {
  CHECK(lines_of({"one\ntw"}) == Lines{"one", "<tw>"});
  CHECK(lines_of({}) == Lines{});
}

TEST_CASE("a long line is split, and nothing is lost") {
  CHECK(lines_of({"1234567890123456789\n"}) == Lines{"12345678", "90123456", "789"});
  CHECK(lines_of({"1234567", "8901"}) == Lines{"12345678", "<901>"});
}

TEST_CASE("a line of exactly the maximum size is not followed by an empty one") {
  CHECK(lines_of({"12345678\nx\n"}) == Lines{"12345678", "x"});
  CHECK(lines_of({"12345678", "\n", "x\n"}) == Lines{"12345678", "x"});
}
