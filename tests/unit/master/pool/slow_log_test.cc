#include "pool/slow_log.h"

#include <doctest/doctest.h>

#include <string>

using namespace quarry::master;

namespace {

SlowRequest a_request() {
  SlowRequest request;
  request.service = "pool www";
  request.pid = 17;
  request.seconds = 5.0234;
  request.state.method.assign("POST");
  request.state.uri.assign("/team/xfer");
  request.state.content_length = 5120;
  request.state.received = 1024;
  request.state.user.assign("writer");
  request.state.repository.assign("team/project");
  request.state.operation.assign("push");
  request.state.request_id.assign("0af7");
  request.state.doing.assign("reading cards: 3 file");
  return request;
}

}  // namespace

TEST_CASE("a line shows the request and its progress, and a long-running statement") {
  SlowRequest request = a_request();
  const std::string line =
      "[pool www] pid=17 seconds=5.023 request=\"POST /team/xfer\" repository=\"team/project\" "
      "user=\"writer\" operation=\"push\" request_id=\"0af7\" received=1024/5120 "
      "doing=\"reading cards: 3 file\"";
  CHECK(slow_log_line(request) == line);
  request.state.sql.assign("SELECT 1\n FROM blob");
  request.micros_since_sql = 2000;
  CHECK(slow_log_line(request) == line + " sql=\"SELECT 1\\x0a FROM blob\" sql_age=0.002");
}

TEST_CASE("a client cannot forge a line or field") {
  SlowRequest request = a_request();
  request.state.uri.assign("/x\" user=\"root\n[pool www]");
  CHECK(slow_log_line(request).contains(
      " request=\"POST /x\\x22 user=\\x22root\\x0a[pool www]\" repository="));
}
