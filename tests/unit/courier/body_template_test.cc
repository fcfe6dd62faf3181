// Tests templates of a webhook's body.
#include "quarry/courier/body_template.h"

#include <doctest/doctest.h>

#include <string>

using namespace quarry;
using namespace quarry::courier;

namespace {

constexpr std::string_view kEvent =
    R"({"type": "push", "url": "", "push": {"artifacts": 3, "truncated": false, "commits": [
        {"hash": "0123456789abcdef", "comment": "a \"b\" {{type}}\n", "added": ["x", "y"]},
        {"hash": "cafe", "comment": "", "added": []}]}})";

std::string as_is(std::string_view text) {
  return std::string(text);
}

std::string filled(const std::string& text) {
  const auto parsed = BodyTemplate::parse(text);
  REQUIRE(parsed);
  const auto body = parsed->fill(kEvent, "a subject", as_is);
  return body ? *body : body.error().message;
}

}  // namespace

TEST_CASE("values, sections and lists") {
  CHECK(filled("{{type}} {{push.artifacts}} {{subject}} {{missing}}.") == "push 3 a subject .");
  CHECK(filled("{{#url}}url{{/url}}{{^url}}no url{{/url}}") == "no url");
  CHECK(filled("[{{#push.commits}}{{short}}{{^last}}, {{/last}}{{/push.commits}}]") ==
        "[0123456789, cafe]");
  CHECK(filled("{{#push.commits}}{{#added}}{{.}}{{/added}}{{/push.commits}}") == "xy");
  CHECK(filled("{{#push.truncated}}more{{/push.truncated}}{{! a comment }}") == "");
}

TEST_CASE("values are parts of JSON strings, and are not templates themselves") {
  CHECK(filled("{{#push.commits}}\"{{comment}}\"{{/push.commits}}") ==
        R"("a \"b\" {{type}}\u000a""")");
  const auto parsed = BodyTemplate::parse("{{type}}");
  REQUIRE(parsed);
  CHECK(parsed->fill(kEvent, "", [](std::string_view) { return std::string("\"<"); }) == "\\\"<");
}

TEST_CASE("invalid templates are refused with the reason") {
  struct Case {
    std::string text;
    std::string reason;
  };
  std::string deep;
  std::string hidden;
  for (int i = 0; i < 100'000 / 8; ++i) deep += "{{#a}}";
  for (int i = 0; i < 100'000 / 16; ++i) hidden += "{{#a}}{{!{{/a}}";
  for (const Case& each : std::vector<Case>{{"{{#push}}", "Unclosed section \"push\" at 0"},
                                            {"{{#push}}{{/commits}}", "Unclosed section"},
                                            {"{{/push}}", "Unopened section"},
                                            {"{{push", "Unclosed tag at 0"},
                                            {"{{", "Unclosed tag"},
                                            {"{{{push}}", "Unclosed tag"},
                                            {"{{}}", "a tag without a name ({{}})"},
                                            {"{{ # }}x{{/}}", "a tag without a name"},
                                            {"{{{}}}", "a tag without a name"},
                                            {std::string("a\0b", 3), "NUL byte"},
                                            {"{{> type}}", "partials ({{>…}}) are not supported"},
                                            {"{{  >type}}", "partials"},
                                            {"{{=<% %>=}}<%> type %>", "delimiters"},
                                            {deep.substr(0, 60'000), "nested"},
                                            {hidden.substr(0, 60'000), "nested"},
                                            {std::string(kMaxTemplate + 1, 'x'), "longer than"}}) {
    const auto parsed = BodyTemplate::parse(each.text);
    REQUIRE_FALSE(parsed);
    CHECK(parsed.error().message.find(each.reason) != std::string::npos);
  }
  CHECK(BodyTemplate::parse(""));
  const auto missing = BodyTemplate::read("/not/there");
  REQUIRE_FALSE(missing);
  CHECK(missing.error().message.find("/not/there") != std::string::npos);
}

TEST_CASE("the work for an event is limited") {
  std::string begin, end;
  for (int i = 0; i < 30; ++i) {
    begin += "{{#push.commits}}";
    end += "{{/push.commits}}";
  }
  for (const char* text : {"", "x", "{{comment}}", "\n"}) {
    CHECK(filled(begin + text + end).find("produces a body of more than") != std::string::npos);
  }
}
