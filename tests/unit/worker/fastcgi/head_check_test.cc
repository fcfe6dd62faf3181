#include "fastcgi/head_check.h"

#include <doctest/doctest.h>

#include <string>

#include "fastcgi_client.h"
#include "fastcgi_records.h"

using namespace quarry::worker;
using fastcgi_records::begin_record;
using fastcgi_records::record;
using worker_test::encode_params;
using worker_test::post;
using worker_test::request;

namespace {

HeadVerdict verdict(std::string_view bytes) {
  return check_head(bytes).verdict;
}

/// Returns the verdict on a request with the encoded parameters PARAMS.
HeadVerdict of_params(const std::string& params) {
  return verdict(begin_record() + record(FCGI_PARAMS, params) + record(FCGI_PARAMS, ""));
}

}  // namespace

TEST_CASE("a request is recognized as soon as all of its parameters have arrived") {
  const std::string body(3000, 'b');
  const std::string head = request(post("/a", body));
  const std::string whole = request(post("/a", body), body);
  const std::size_t head_size = head.size() - 8;  // without the empty STDIN record
  for (std::size_t size = 0; size < whole.size(); ++size) {
    CAPTURE(size);
    const HeadCheck check = check_head(std::string_view(whole).substr(0, size));
    CHECK(check.verdict == (size < head_size ? HeadVerdict::kIncomplete : HeadVerdict::kComplete));
    CHECK_FALSE(check.is_whole);
  }
  CHECK(check_head(whole).is_whole);
}

TEST_CASE("parameters may be split into records anywhere") {
  const std::string params = encode_params(post("/a", "", "x"));
  for (std::size_t cut = 1; cut < params.size(); ++cut) {
    CHECK(verdict(begin_record() + record(FCGI_PARAMS, params.substr(0, cut)) +
                  record(FCGI_PARAMS, params.substr(cut)) + record(FCGI_PARAMS, "")) ==
          HeadVerdict::kComplete);
  }
}

TEST_CASE("a request that no web server would send is malformed from its first wrong byte on") {
  CHECK(verdict("GET / HTTP/1.1\r\n\r\n") == HeadVerdict::kMalformed);
  CHECK(verdict("\2") == HeadVerdict::kMalformed);
  CHECK(verdict(record(FCGI_PARAMS, "")) == HeadVerdict::kMalformed);
  CHECK(verdict(begin_record(0, 0)) == HeadVerdict::kMalformed);
  CHECK(verdict(record(FCGI_BEGIN_REQUEST, "short")) == HeadVerdict::kMalformed);
  CHECK(verdict(record(FCGI_BEGIN_REQUEST, std::string("\0\2\0\0\0\0\0\0", 8))) ==
        HeadVerdict::kMalformed);
  CHECK(verdict(begin_record() + record(FCGI_STDIN, "")) == HeadVerdict::kMalformed);
  CHECK(verdict(begin_record() + record(FCGI_PARAMS, "", 0, 2)) == HeadVerdict::kMalformed);
  CHECK(verdict(begin_record() + begin_record()) == HeadVerdict::kMalformed);
}

TEST_CASE("false lengths are detected before memory is allocated") {
  CHECK(of_params(std::string("\1\2ab", 4)) == HeadVerdict::kMalformed);
  CHECK(of_params(std::string("\xff\xff\xff\xff\xff\xff\xff\xff", 8)) == HeadVerdict::kMalformed);
  CHECK(of_params(std::string("\x80\0\0", 3)) == HeadVerdict::kMalformed);
  CHECK(of_params(std::string("\1", 1)) == HeadVerdict::kMalformed);
  CHECK(of_params(std::string("\0\1x", 3)) == HeadVerdict::kMalformed);
  CHECK(of_params(std::string("\1\3Ax\0y", 6)) == HeadVerdict::kMalformed);
  CHECK(of_params(std::string("\1\0A", 3)) == HeadVerdict::kComplete);
}

TEST_CASE("too many or too long parameters are too large") {
  const auto with = [](std::size_t count, std::size_t size) {
    worker_test::Params params;
    for (std::size_t i = 0; i < count; ++i) params.emplace_back("A", std::string(size, 'x'));
    return verdict(request(params));
  };
  CHECK(with(quarry::http::kMaxParams, 1) == HeadVerdict::kComplete);
  CHECK(with(quarry::http::kMaxParams + 1, 1) == HeadVerdict::kTooLarge);
  CHECK(with(1, quarry::http::kMaxParamsSize - 6) == HeadVerdict::kComplete);
  CHECK(with(2, quarry::http::kMaxParamsSize / 2) == HeadVerdict::kTooLarge);
}
