#include "quarry/http/form.h"

#include <doctest/doctest.h>

#include <string>

using namespace quarry::http;

TEST_CASE("a value is decoded") {
  CHECK(form_decode("a+b%2Bc%c3%A9") == "a b+c\xc3\xa9");
  CHECK(form_decode("") == "");
  for (const char* const wrong : {"%", "%4", "%4z", "%zz", "a%00"}) {
    CAPTURE(wrong);
    CHECK_FALSE(form_decode(wrong));
  }
}

TEST_CASE("lenient decoding keeps invalid escapes") {
  CHECK(form_decode_leniently("a+b%2Bc%c3%A9") == "a b+c\xc3\xa9");
  CHECK(form_decode_leniently("%+%4+%4z+%%41") == "% %4 %4z %A");
  CHECK(form_decode_leniently("a%00b") == std::string("a\0b", 3));
}

TEST_CASE("the first value of a name in a query is used") {
  CHECK(form_value("a=1&b=x+y&b=2", "b") == "x y");
  CHECK(form_value("a&&=3&ab=4", "a") == "");
  CHECK(form_value("a=1", "b") == "");
  CHECK(form_value("a=b=c", "a") == "b=c");
  CHECK_FALSE(form_value("a=%zz", "a"));
}
