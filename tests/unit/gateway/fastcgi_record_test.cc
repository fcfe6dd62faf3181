#include "fastcgi_record.h"

#include <doctest/doctest.h>

#include <string>

#include "fastcgi_records.h"
#include "quarry/base/event_handles.h"

using namespace quarry::gateway;
using fastcgi_records::begin_record;
using fastcgi_records::end_record;
using fastcgi_records::record;

namespace {

struct Collected {
  quarry::base::EventBufferPtr out{evbuffer_new()};
  std::string errors;
  ReplyReader reader;

  ReplyReader::Status feed(std::string_view bytes) { return reader.feed(bytes, out.get(), errors); }
};

std::string taken(evbuffer* buffer) {
  std::string bytes(evbuffer_get_length(buffer), '\0');
  evbuffer_remove(buffer, bytes.data(), bytes.size());
  return bytes;
}

std::string request_of(std::string_view params, const std::string& body) {
  const quarry::base::EventBufferPtr out(evbuffer_new());
  const quarry::base::EventBufferPtr in(evbuffer_new());
  evbuffer_add(in.get(), body.data(), body.size());
  REQUIRE(append_request(out.get(), params, in.get()));
  CHECK(evbuffer_get_length(in.get()) == 0);
  return taken(out.get());
}

ReplyReader::Status read_all(std::string_view bytes, std::size_t step, Collected& collected) {
  auto status = ReplyReader::Status::kMore;
  while (!bytes.empty() && status == ReplyReader::Status::kMore) {
    status = collected.feed(bytes.substr(0, step));
    bytes.remove_prefix(std::min(step, bytes.size()));
  }
  return status;
}

}  // namespace

TEST_CASE("a request is a BEGIN record, params and body, each stream with an end") {
  CHECK(request_of("pp", "body") == begin_record() + record(FCGI_PARAMS, "pp") +
                                        record(FCGI_PARAMS, "") + record(FCGI_STDIN, "body") +
                                        record(FCGI_STDIN, ""));
  CHECK(request_of("", "") == begin_record() + record(FCGI_PARAMS, "") + record(FCGI_STDIN, ""));
}

TEST_CASE("a reply is parsed from pieces of any size") {
  const std::string bytes = record(FCGI_STDOUT, "hello ", 3) + record(FCGI_STDERR, "oops", 255) +
                            record(FCGI_STDOUT, "world") + record(FCGI_STDERR, "") +
                            record(FCGI_STDOUT, "", 8) + end_record();
  for (std::size_t step = 1; step <= bytes.size(); ++step) {
    CAPTURE(step);
    Collected collected;
    CHECK(read_all(bytes, step, collected) == ReplyReader::Status::kEnd);
    CHECK(taken(collected.out.get()) == "hello world");
    CHECK(collected.errors == "oops");
    CHECK(collected.reader.protocol_status() == FCGI_REQUEST_COMPLETE);
  }
}

TEST_CASE("a refusal by the pool is distinguished from a reply") {
  Collected collected;
  CHECK(collected.feed(end_record(FCGI_OVERLOADED)) == ReplyReader::Status::kEnd);
  CHECK(collected.reader.protocol_status() == FCGI_OVERLOADED);
}

TEST_CASE("records that violate the protocol are an error") {
  std::string other_version = record(FCGI_STDOUT, "x");
  other_version[0] = 2;
  for (const std::string& bytes :
       {other_version, record(FCGI_STDOUT, "x", 0, 2), record(FCGI_STDOUT, "x", 0, 0),
        record(FCGI_BEGIN_REQUEST, std::string(8, '\0')), record(FCGI_STDIN, "x"), record(0, ""),
        record(FCGI_UNKNOWN_TYPE, std::string(8, '\0')), record(FCGI_END_REQUEST, "short"),
        record(FCGI_END_REQUEST, std::string(16, '\0')),
        record(FCGI_STDOUT, "") + record(FCGI_STDOUT, "x"), std::string("HTTP/1.1 200 OK\r\n")}) {
    Collected collected;
    CHECK(collected.feed(bytes) == ReplyReader::Status::kBad);
    CHECK_FALSE(collected.reader.error().empty());
  }
}
