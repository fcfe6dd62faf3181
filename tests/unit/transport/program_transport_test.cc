// Tests programs that are started to answer requests, such as ssh and fossil.
#include <doctest/doctest.h>
#include <sys/stat.h>

#include <chrono>
#include <fstream>

#include "quarry/transport/remote_url.h"
#include "quarry/transport/transport.h"
#include "temporary_folder.h"

using namespace quarry::transport;

TEST_CASE("an interruption without a signal is noticed soon") {
  const TemporaryFolder folder;
  const std::string program = (folder / "silent").string();
  std::ofstream(program) << "#!/bin/sh\nexec sleep 600\n";
  REQUIRE(::chmod(program.c_str(), 0755) == 0);
  int checks = 0;
  TransportOptions options;
  options.idle_timeout = std::chrono::hours(1);
  options.is_interrupted = [&checks] { return ++checks > 1; };
  const auto url = RemoteUrl::parse("file:///repository?fossil=" + program);
  REQUIRE(url.has_value());
  const auto transport = connect(*url, options);
  REQUIRE(transport.has_value());
  const auto reply = (*transport)->exchange({.content_type = "application/x-fossil", .body = ""});
  REQUIRE_FALSE(reply.has_value());
  CHECK(reply.error().message == "interrupted");
}
