#include "quarry/artifact/fossilize.h"

#include <doctest/doctest.h>

#include "support.h"

namespace quarry::artifact {
namespace {

using namespace std::string_view_literals;

TEST_CASE("each separating character has its escape, and others stand for themselves") {
  CHECK(fossilize(" \t\n\r\f\v\0\\"sv) == R"(\s\t\n\r\f\v\0\\)");
  CHECK(defossilize(R"(\s\t\n\r\f\v\0\\)") == " \t\n\r\f\v\0\\"sv);
  CHECK(fossilize("snow/f\xc3\xb8re.txt") == "snow/f\xc3\xb8re.txt");
  CHECK(fossilize("") == "");
  CHECK(defossilize("snow") == "snow");
  std::string token = R"(a\sb\\c)";
  token.resize(defossilize_in_place(token.data(), token.size()));
  CHECK(token == R"(a b\c)");
}

TEST_CASE("a backslash stands for any other character after it, and at the end for itself") {
  CHECK(defossilize(R"(\q\-)") == "q-");
  CHECK(defossilize(R"(a\)") == R"(a\)");
  CHECK(defossilize(R"(\)") == R"(\)");
  CHECK(defossilize(R"(\\\)") == R"(\\)");
}

TEST_CASE("any bytes survive as one token without a separator in it") {
  test::Random random;
  INFO("seed ", random.seed());
  for (int round = 0; round < 300; ++round) {
    const std::string text = random.bytes(random.below(300));
    const std::string token = fossilize(text);
    CHECK(token.find_first_of(" \t\n\r\f\v\0"sv) == std::string::npos);
    CHECK(defossilize(token) == text);
  }
}

}  // namespace
}  // namespace quarry::artifact
