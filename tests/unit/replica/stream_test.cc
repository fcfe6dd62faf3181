#include "quarry/replica/stream.h"

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <array>
#include <chrono>
#include <cstdlib>
#include <fstream>
#include <map>
#include <thread>

#include "eventually.h"
#include "nats_servers.h"

using namespace quarry;
using replica::NewStreamMessage;
using replica::Stream;
using replica::StreamMessage;
using replica::StreamOptions;

namespace {

constexpr std::chrono::milliseconds kShort(50);

StreamOptions options_of(const NatsServers& servers, std::size_t first = 0) {
  StreamOptions options;
  options.servers = servers.urls(first);
  options.group = "g";
  options.host = "alpha";
  options.replicas = static_cast<int>(servers.count());
  return options;
}

/// Opens a stream, and waits until it can be used.
std::unique_ptr<Stream> open(const StreamOptions& options) {
  auto stream = Stream::open(options);
  REQUIRE_MESSAGE(stream.has_value(), (stream ? "" : stream.error().message));
  REQUIRE(eventually([&] { return (*stream)->is_connected(); }));
  return *std::move(stream);
}

NewStreamMessage message(std::string content) {
  static int number = 0;
  return {"p1", fmt::format("id {}", ++number), std::move(content)};
}

std::uint64_t publish(Stream& stream, const std::vector<NewStreamMessage>& messages) {
  const auto sequence = stream.publish(messages, kPatienceTime);
  REQUIRE_MESSAGE(sequence.has_value(), (sequence ? "" : sequence.error().message));
  return *sequence;
}

/// Returns the next message, and seeks again after an error, as callers do. Checks that the stream
/// neither skips nor repeats a message.
class Reader {
 public:
  Reader(Stream& stream, std::uint64_t sequence) : stream_(stream), sequence_(sequence) {
    REQUIRE(eventually([&] { return stream_.seek(sequence_).has_value(); }));
  }
  StreamMessage next() {
    std::optional<StreamMessage> found;
    const bool has_come = eventually([&] {
      auto result = stream_.next(kShort);
      if (!result) static_cast<void>(stream_.seek(sequence_));
      if (result && *result) found = **std::move(result);
      return found.has_value();
    });
    REQUIRE(has_come);
    CHECK(found->sequence == sequence_ + 1);
    sequence_ = found->sequence;
    return *std::move(found);
  }

 private:
  Stream& stream_;
  std::uint64_t sequence_;
};

}  // namespace

TEST_CASE("messages are read in the order in which they were published") {
  const NatsServers servers(1);
  const auto stream = open(options_of(servers));
  const auto empty = stream->range();
  REQUIRE(empty);
  CHECK(empty->created > 0);
  CHECK(empty->first == 1);
  CHECK(empty->last == 0);

  CHECK(publish(*stream, {message("a")}) == 1);
  CHECK(publish(*stream, {message("b"), {"p2", "other", "c"}, message("")}) == 4);
  const auto range = stream->range();
  REQUIRE(range);
  CHECK(range->created == empty->created);
  CHECK(range->first == 1);
  CHECK(range->last == 4);

  Reader reader(*stream, 0);
  const auto first = reader.next();
  CHECK(first.content == "a");
  CHECK(first.project == "p1");
  const auto now = base::system_clock().now().value;
  CHECK(first.stored.value <= now);
  CHECK(first.stored.value > now - 3'600'000);
  CHECK(reader.next().content == "b");
  CHECK(reader.next().project == "p2");
  CHECK(reader.next().content.empty());
  const auto nothing = stream->next(kShort);
  REQUIRE(nothing);
  CHECK(!*nothing);
  publish(*stream, {message("later")});
  CHECK(reader.next().content == "later");
  Reader again(*stream, 3);
  CHECK(again.next().content.empty());
}
