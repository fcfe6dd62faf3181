#include "quarry/changes/seen_requests.h"

#include <doctest/doctest.h>

#include <filesystem>
#include <string>

#include "world.h"

using namespace quarry::changes;
using changes_test::Queue;
using quarry::base::UnixMillis;

namespace {

constexpr std::chrono::minutes kSkew{5};
const std::string kSignature(40, 'a');
const std::string kOther(40, 'b');

UnixMillis minutes(std::int64_t count) {
  return {changes_test::kNow.value + count * 60'000};
}

quarry::base::Result<bool> is_first(Queue& queue, std::string_view signature, UnixMillis date,
                                    UnixMillis now) {
  return is_first_request(queue.directories, kSkew, signature, date, now);
}

}  // namespace

TEST_CASE("a request is accepted once") {
  Queue queue;
  CHECK(is_first(queue, kSignature, minutes(0), minutes(0)).value());
  CHECK_FALSE(is_first(queue, kSignature, minutes(0), minutes(4)).value());
  CHECK(is_first(queue, kOther, minutes(0), minutes(4)).value());
}

TEST_CASE("a request is remembered as long as its date is acceptable") {
  // Requests are recorded by periods of 10 minutes (twice kSkew). The loop covers two periods, so
  // that the request's date falls on every minute of a period.
  for (std::int64_t start = 0; start < 20; ++start) {
    Queue queue;
    CHECK(is_first(queue, kSignature, minutes(start + 5), minutes(start)).value());
    for (std::int64_t now = start; now <= start + 10; ++now) {
      CHECK(is_first(queue, kSignature.substr(2) + std::to_string(10 + now - start), minutes(now),
                     minutes(now))
                .value());
      CHECK_FALSE(is_first(queue, kSignature, minutes(start + 5), minutes(now)).value());
    }
  }
}

TEST_CASE("a request that is too old to be accepted is forgotten") {
  Queue queue;
  for (std::int64_t now = 0; now < 1000; now += 7) {
    CHECK(is_first(queue, kSignature.substr(4) + std::to_string(1000 + now), minutes(now),
                   minutes(now))
              .value());
  }
  std::size_t periods = 0;
  for (const auto& each : std::filesystem::directory_iterator(queue.directories.control("seen"))) {
    CHECK(each.is_directory());
    ++periods;
  }
  CHECK(periods <= 3);
}

TEST_CASE("an invalid signature does not name a file") {
  Queue queue;
  for (const char* text : {"", "../../x", "a/b", "."}) {
    CHECK_FALSE(is_first(queue, text, minutes(0), minutes(0)));
  }
}
