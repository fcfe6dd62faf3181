#include "connection/request_reader.h"

#include <doctest/doctest.h>

#include <string>
#include <string_view>

#include "fastcgi_records.h"

using namespace quarry::pages;
using fastcgi_records::begin_record;
using fastcgi_records::record;
using quarry::base::EventBufferPtr;
using Status = RequestReader::Status;

namespace {

std::string pairs(std::initializer_list<std::pair<std::string_view, std::string_view>> all) {
  std::string result;
  for (const auto& [name, value] : all) quarry::http::append_pair(result, name, value);
  return result;
}

std::string whole_request(std::string_view body) {
  return begin_record() +
         record(FCGI_PARAMS, pairs({{"REQUEST_METHOD", "POST"}, {"PATH_INFO", "/x"}}), 3) +
         record(FCGI_PARAMS, "") + record(FCGI_STDIN, body, 5) + record(FCGI_STDIN, "");
}

std::string text_of(evbuffer* buffer) {
  std::string text(evbuffer_get_length(buffer), '\0');
  evbuffer_copyout(buffer, text.data(), text.size());
  return text;
}

/// Feeds BYTES in pieces of SIZE and returns the last status.
Status feed(RequestReader& reader, std::string_view bytes, std::size_t size) {
  const EventBufferPtr input(evbuffer_new());
  Status status = Status::kMore;
  while (!bytes.empty() && status == Status::kMore) {
    const std::string_view piece = bytes.substr(0, size);
    evbuffer_add(input.get(), piece.data(), piece.size());
    bytes.remove_prefix(piece.size());
    status = reader.feed(input.get());
  }
  return status;
}

Status feed(std::string_view bytes, std::size_t max_body = 1000) {
  RequestReader reader(max_body);
  return feed(reader, bytes, bytes.size());
}

}  // namespace

TEST_CASE("a request is the same however it is split into pieces") {
  const std::string bytes = whole_request("hello");
  for (std::size_t size = 1; size <= bytes.size(); ++size) {
    CAPTURE(size);
    RequestReader reader(1000);
    REQUIRE(feed(reader, bytes, size) == Status::kComplete);
    CHECK(reader.id() == 1);
    CHECK(reader.request().get("REQUEST_METHOD") == "POST");
    CHECK(reader.request().path() == "/x");
    CHECK(text_of(reader.request().body.get()) == "hello");
  }
}

TEST_CASE("requests that no web server would send are rejected") {
  const std::string begin = begin_record();
  const std::string one = record(FCGI_PARAMS, pairs({{"A", "b"}}));
  const std::string end = record(FCGI_PARAMS, "");
  CHECK(feed(record(FCGI_PARAMS, "")) == Status::kMalformed);
  CHECK(feed(record(FCGI_BEGIN_REQUEST, "short")) == Status::kMalformed);
  CHECK(feed(begin_record(0, 0)) == Status::kMalformed);
  CHECK(feed(begin + record(FCGI_STDIN, "x")) == Status::kMalformed);
  CHECK(feed(begin + record(FCGI_PARAMS, "", 0, 8)) == Status::kMalformed);
  CHECK(feed(begin + one + end + record(FCGI_STDIN, "x", 0, 8)) == Status::kMalformed);
  CHECK(feed(begin + record(FCGI_PARAMS, "\x05\x01half") + end) == Status::kMalformed);
  CHECK(feed(begin + record(FCGI_PARAMS, pairs({{"A", std::string_view("b\0c", 3)}})) + end) ==
        Status::kMalformed);
  CHECK(feed("\2" + begin.substr(1)) == Status::kMalformed);
}

TEST_CASE("an oversized request is refused before memory is allocated") {
  const std::string begin = begin_record();
  std::string many = begin;
  for (int i = 0; i < 3; ++i) many += record(FCGI_PARAMS, std::string(30'000, 'x'));
  CHECK(feed(many) == Status::kMalformed);
  std::string names;
  for (std::size_t i = 0; i <= quarry::http::kMaxParams; ++i) names += pairs({{"A", "b"}});
  CHECK(feed(begin + record(FCGI_PARAMS, names) + record(FCGI_PARAMS, "")) == Status::kMalformed);
  CHECK(feed(whole_request(std::string(1000, 'x'))) == Status::kComplete);
  CHECK(feed(whole_request(std::string(1001, 'x'))) == Status::kTooLarge);
}

TEST_CASE("a web server may abort a request") {
  const std::string bytes = whole_request("hello");
  const std::string abort = record(FCGI_ABORT_REQUEST, "");
  CHECK(feed(bytes.substr(0, bytes.size() - 8) + abort) == Status::kAborted);
}
