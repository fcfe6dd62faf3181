#include "page_route.h"

#include <doctest/doctest.h>

using quarry::gateway::is_certainly_page;

TEST_CASE("pages are GET requests and submitted forms") {
  for (const char* path : {"/", "/timeline", "/a/b/wiki", "/doc/trunk/queues.md", "/queueing"}) {
    CAPTURE(path);
    CHECK(is_certainly_page("GET", path, ""));
    CHECK(is_certainly_page("HEAD", path, ""));
    CHECK(is_certainly_page("POST", path, "multipart/form-data; boundary=x"));
    CHECK(is_certainly_page("POST", path, "Application/X-WWW-Form-Urlencoded"));
  }
}

TEST_CASE("ambiguous requests go to the pool") {
  for (const char* type : {"application/x-fossil", "application/x-fossil-debug", "text/plain", "",
                           "application/x-quarry-change-set"}) {
    CAPTURE(type);
    CHECK_FALSE(is_certainly_page("POST", "/timeline", type));
  }
  for (const char* path : {"/queue", "/a/queue", "/a/queue.json", "/queue/0123", "/doc/tip/queue/x",
                           "/xfer", "/a/xfer"}) {
    CAPTURE(path);
    CHECK_FALSE(is_certainly_page("GET", path, ""));
  }
  CHECK_FALSE(is_certainly_page("PUT", "/timeline", ""));
}
