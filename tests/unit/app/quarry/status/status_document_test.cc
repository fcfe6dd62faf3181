#include "status/status_view.h"

#include <doctest/doctest.h>

using namespace quarry::app;
using quarry::base::ErrorCode;

namespace {

StatusDocument pool_with(std::int64_t started, std::uint64_t requests) {
  return {{"start time", static_cast<std::uint64_t>(started)}, {"requests", requests}};
}

double requests_between(const StatusDocument& before, const StatusDocument& after, double seconds) {
  return rate_between(before, after, "requests", seconds);
}

}  // namespace

TEST_CASE(
    "missing members and wrong types read as nothing, and a document that is not a status is an "
    "error") {
  const auto odd = parse_status(
      R"({"pid":"x","previous generation":7,"generation":-3,"crashes":1e99,"start time":99999999999999999,"state":[],"pools":[1]})");
  REQUIRE(odd);
  const StatusObject server = *odd;
  CHECK(server.number("pid") == 0);
  CHECK(server.number("generation") == 0);
  CHECK(server.number("crashes") == 0);
  CHECK(server.number("absent") == 0);
  CHECK(server.instant("start time") == 1'000'000'000'000);
  CHECK(server.text("state").empty());
  CHECK(server.list("previous generation").empty());
  REQUIRE(server.list("pools").size() == 1);
  CHECK(StatusObject(server.list("pools")[0]).text("pool").empty());
  for (const char* document : {"", "{", "[]", "7", "{}", "{\"pools\":"}) {
    const auto none = parse_status(document);
    REQUIRE_FALSE(none);
    CHECK(none.error().code == ErrorCode::kInvalid);
  }
  const auto refused = parse_status("{\"error\":\"not\\u001b[2J you\"}");
  REQUIRE_FALSE(refused);
  CHECK(refused.error().message == "quarryd says: not\\x1b[2J you");
}

TEST_CASE("a rate is the difference between two samples, divided by the time between them") {
  CHECK(requests_between(pool_with(1, 100), pool_with(1, 130), 2) == 15);
  CHECK(requests_between(pool_with(1, 1), pool_with(1, 2), 2) == 0.5);
  CHECK(rate_between(pool_with(1, 1), pool_with(1, 2), "pulls", 2) == 0);
}

TEST_CASE(
    "a restarted pool counts from 0, and rates are 0 for figures that shrank and for an empty "
    "interval") {
  const StatusDocument before = pool_with(1, 100);
  CHECK(requests_between(before, pool_with(2, 6), 2) == 3);
  CHECK(requests_between(before, pool_with(2, 600), 2) == 300);
  CHECK(requests_between(before, pool_with(1, 6), 2) == 0);
  CHECK(requests_between(before, pool_with(1, 200), 0) == 0);
  CHECK(requests_between(before, pool_with(1, 200), -1) == 0);
}

TEST_CASE("a service that runs on request names its pool") {
  CHECK(pool_of_service(StatusDocument{{"service", "backoffice www"}}) == "www");
  CHECK(pool_of_service(StatusDocument{{"service", "gateway"}}) == "gateway");
}
