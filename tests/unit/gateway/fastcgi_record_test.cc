#include "fastcgi_record.h"

#include <doctest/doctest.h>

#include <string>

#include "quarry/base/event_handles.h"
#include "world.h"

using namespace quarry::gateway;
using quarry::gateway::testing::fastcgi_record;

namespace {

struct Collected final : RecordSink {
  std::string out;
  std::string err;
  void on_stdout(std::string_view bytes) override { out += bytes; }
  void on_stderr(std::string_view bytes) override { err += bytes; }
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

RecordReader::Status read_all(std::string_view bytes, std::size_t step, Collected& collected,
                              RecordReader& reader) {
  auto status = RecordReader::Status::kMore;
  while (!bytes.empty() && status == RecordReader::Status::kMore) {
    status = reader.feed(bytes.substr(0, step), collected);
    bytes.remove_prefix(std::min(step, bytes.size()));
  }
  return status;
}

const std::string kBegin = fastcgi_record(1, std::string_view("\0\1\0\0\0\0\0\0", 8));
const std::string kEnd = fastcgi_record(3, std::string(8, '\0'));

}  // namespace

TEST_CASE("names and values carry lengths of one byte up to 127 and of four above") {
  Params params;
  params.add("A", "bc");
  params.add("N", std::string(127, 'x'));
  params.add("L", std::string(128, 'y'));
  CHECK(params.bytes() == std::string("\x01\x02") + "Abc" + "\x01\x7f" + "N" +
                              std::string(127, 'x') + std::string("\x01\x80\0\0\x80", 5) + "L" +
                              std::string(128, 'y'));
}

TEST_CASE("a request is its beginning, its params and its body, each stream with an end") {
  CHECK(request_of("pp", "body") == kBegin + fastcgi_record(4, "pp") + fastcgi_record(4, "") +
                                        fastcgi_record(5, "body") + fastcgi_record(5, ""));
  CHECK(request_of("", "") == kBegin + fastcgi_record(4, "") + fastcgi_record(5, ""));
}

TEST_CASE("params and bodies beyond one record are cut into several") {
  const std::string params(70'000, 'p');
  const std::string body(200'000, 'b');
  std::string expected = kBegin + fastcgi_record(4, params.substr(0, 65528)) +
                         fastcgi_record(4, params.substr(65528)) + fastcgi_record(4, "");
  for (std::size_t at = 0; at < body.size(); at += 65528) {
    expected += fastcgi_record(5, body.substr(at, 65528));
  }
  CHECK((request_of(params, body) == expected + fastcgi_record(5, "")));
}

TEST_CASE("an answer reads the same in pieces of any size") {
  const std::string bytes = fastcgi_record(6, "hello ", 3) + fastcgi_record(7, "oops", 255) +
                            fastcgi_record(6, "world") + fastcgi_record(7, "") +
                            fastcgi_record(6, "", 8) + kEnd;
  for (std::size_t step = 1; step <= bytes.size(); ++step) {
    CAPTURE(step);
    Collected collected;
    RecordReader reader;
    CHECK(read_all(bytes, step, collected, reader) == RecordReader::Status::kEnd);
    CHECK(collected.out == "hello world");
    CHECK(collected.err == "oops");
    CHECK(reader.protocol_status() == 0);
  }
}

TEST_CASE("an answer without its end record is not complete") {
  const std::string bytes = fastcgi_record(6, "x") + fastcgi_record(6, "") + kEnd;
  Collected collected;
  RecordReader reader;
  CHECK(reader.feed(std::string_view(bytes).substr(0, bytes.size() - 1), collected) ==
        RecordReader::Status::kMore);
}

TEST_CASE("a refusal by the pool is told from an answer") {
  Collected collected;
  RecordReader reader;
  CHECK(reader.feed(fastcgi_record(3, std::string_view("\0\0\0\0\2\0\0\0", 8)), collected) ==
        RecordReader::Status::kEnd);
  CHECK(reader.protocol_status() == 2);
}

TEST_CASE("records that break the protocol are bad, not waited for") {
  std::string other_version = fastcgi_record(6, "x");
  other_version[0] = 2;
  for (const std::string& bytes :
       {other_version, fastcgi_record(6, "x", 0, 2), fastcgi_record(6, "x", 0, 0),
        fastcgi_record(1, std::string(8, '\0')), fastcgi_record(5, "x"), fastcgi_record(0, ""),
        fastcgi_record(11, std::string(8, '\0')), fastcgi_record(3, "short"),
        fastcgi_record(3, std::string(16, '\0')), fastcgi_record(6, "") + fastcgi_record(6, "x"),
        std::string("HTTP/1.1 200 OK\r\n")}) {
    Collected collected;
    RecordReader reader;
    CHECK(reader.feed(bytes, collected) == RecordReader::Status::kBad);
    CHECK_FALSE(reader.error().empty());
  }
}
