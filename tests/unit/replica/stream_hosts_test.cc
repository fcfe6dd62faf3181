// Tests what hosts need from the stream in addition to reading messages in order: conditional
// publishing, requests to other hosts, keys and leases.
#include <doctest/doctest.h>
#include <fmt/format.h>

#include <array>
#include <atomic>
#include <barrier>
#include <mutex>
#include <set>
#include <thread>

#include "quarry/replica/entry.h"
#include "stream_client.h"

using namespace quarry;
using replica::Bucket;
using replica::NewStreamMessage;
using replica::Stream;
using replica::StreamOptions;

namespace {

StreamOptions options_of(const NatsServers& servers, std::string host, std::size_t first = 0) {
  StreamOptions options = options_of(servers, first);
  options.host = std::move(host);
  return options;
}

std::uint64_t publish_after(Stream& stream, std::uint64_t expected,
                            const std::vector<NewStreamMessage>& messages) {
  const auto sequence = stream.publish_after(expected, messages, kPatienceTime);
  REQUIRE_MESSAGE(sequence.has_value(), (sequence ? "" : sequence.error().message));
  return *sequence;
}

bool is_refused_after(Stream& stream, std::uint64_t expected) {
  const auto result = stream.publish_after(expected, std::vector{message("late")}, kPatienceTime);
  return !result && result.error().code == ErrorCode::kConflict;
}

/// The texts that a host has received.
class Heard {
 public:
  void add(std::string_view text) {
    const std::lock_guard lock(mutex_);
    texts_.emplace(text);
  }
  bool has(const std::string& text) const {
    const std::lock_guard lock(mutex_);
    return texts_.contains(text);
  }

 private:
  mutable std::mutex mutex_;
  std::set<std::string> texts_;
};

std::string greet(std::string_view request) {
  return fmt::format("hello {}", request);
}

/// Returns the answer of HOST, which has just begun to answer.
std::string ask(Stream& stream, const std::string& host, const std::string& request) {
  std::string answer;
  CHECK(eventually([&] {
    auto result = stream.request(host, request, kPatienceTime);
    if (result) answer = *std::move(result);
    return result.has_value();
  }));
  return answer;
}

/// Returns the value of KEY, or "".
std::string value_of(Stream& stream, Bucket bucket, const std::string& key) {
  const auto found = stream.get(bucket, key);
  REQUIRE_MESSAGE(found.has_value(), (found ? "" : found.error().message));
  return *found ? (*found)->value : "";
}

/// Returns the revision, or 0 if another host came first.
std::uint64_t put(Stream& stream, Bucket bucket, const std::string& key, std::string_view value,
                  std::uint64_t expected) {
  const auto revision = stream.put(bucket, key, value, expected);
  REQUIRE_MESSAGE(revision.has_value(), (revision ? "" : revision.error().message));
  return revision->value_or(0);
}

}  // namespace

TEST_CASE("a message is stored only if no other message of its project came first") {
  NatsServers servers(1);
  const auto one = open(options_of(servers, "one"));
  const auto two = open(options_of(servers, "two"));
  CHECK(publish_after(*one, 0, {message("a")}) == 1);
  CHECK(is_refused_after(*two, 0));
  CHECK(publish(*two, {{"p2", "other", "of another project"}}) == 2);
  // The position of a host is often a message of another project.
  CHECK(publish_after(*one, 2, {message("b"), message("c")}) == 4);
  CHECK(is_refused_after(*two, 2));
  CHECK(is_refused_after(*two, 3));
  CHECK(publish(*two, {message("d")}) == 5);
  CHECK(is_refused_after(*one, 4));
  CHECK(two->range()->last == 5);
  CHECK(publish(*two, {{"p2", "last", "of another project"}}) == 6);
  REQUIRE(servers.request(0, "$JS.API.STREAM.PURGE.quarry-g").contains("\"purged\":6"));
  CHECK(publish_after(*one, 6, {{"p2", "next", "after all were discarded"}}) == 7);

  servers.kill(0);
  const auto failed = one->publish_after(7, std::vector{NewStreamMessage{"p2", "e", "e"}}, kShort);
  REQUIRE(!failed);
  CHECK(failed.error().code == ErrorCode::kBusy);
  servers.start(0);
  CHECK(publish_after(*one, 7, {{"p2", "e", "e"}}) == 8);
  const auto too_large =
      one->publish_after(8, std::vector{message(std::string(2 << 20, 'x'))}, kPatienceTime);
  REQUIRE(!too_large);
  CHECK(too_large.error().code == ErrorCode::kLimit);
}

TEST_CASE("only one of two landings follows a message while two hosts race") {
  const NatsServers servers(3);
  constexpr int kRounds = 30;
  std::array<std::unique_ptr<Stream>, 2> streams;
  for (std::size_t t = 0; t < streams.size(); ++t)
    streams[t] = open(options_of(servers, fmt::format("{}", t), t));
  // Both read the same position before they publish.
  std::barrier both(2);
  std::array<std::vector<std::uint64_t>, 2> accepted;
  std::set<std::string> contents;
  std::mutex mutex;
  std::vector<std::thread> threads;
  for (std::size_t t = 0; t < streams.size(); ++t) {
    threads.emplace_back([&, t] {
      for (int i = 0; i < kRounds; ++i) {
        both.arrive_and_wait();
        const auto range = streams[t]->range();
        both.arrive_and_wait();
        const std::string host = fmt::format("{}", t);
        const std::string content = fmt::format("{} {} {}", t, i, std::string(2500, 'x'));
        const auto parts = replica::messages_of("p1", host, content, 1000);
        const bool is_stored =
            range && streams[t]->publish_after(range->last, parts, kPatienceTime);
        accepted[t].push_back(is_stored ? range->last : 0);
        const std::lock_guard lock(mutex);
        if (is_stored) contents.insert(content);
      }
    });
  }
  for (auto& thread : threads) thread.join();
  int both_accepted = 0;
  for (int i = 0; i < kRounds; ++i) {
    const auto at = static_cast<std::size_t>(i);
    both_accepted += accepted[0][at] != 0 && accepted[0][at] == accepted[1][at] ? 1 : 0;
  }
  CHECK(both_accepted == 0);
  CHECK(contents.size() > kRounds / 2);

  const std::uint64_t last = streams[0]->range()->last;
  replica::EntryReader entries(1 << 20);
  std::set<std::string> found;
  Reader reader(*streams[1]);
  for (std::uint64_t i = 0; i < last; ++i) {
    auto entry = entries.add(reader.next());
    REQUIRE(entry);
    if (*entry) found.insert((*entry)->content);
  }
  CHECK(found == contents);
}

TEST_CASE("hosts answer requests and hear announcements, also after the server was restarted") {
  NatsServers servers(1);
  Heard heard_by_one;
  Heard heard_by_two;
  const auto one = open(options_of(servers, "one"));
  const auto two = open(options_of(servers, "two"));
  const auto nobody = one->request("two", "Anna", kPatienceTime);
  REQUIRE(!nobody);
  CHECK(nobody.error().code == ErrorCode::kNotFound);
  one->serve(greet, [&](std::string_view text) { heard_by_one.add(text); });
  two->serve(greet, [&](std::string_view text) { heard_by_two.add(text); });
  for (int i = 0; i < 2; ++i) {
    CHECK(ask(*one, "two", "Anna") == "hello Anna");
    CHECK(ask(*two, "one", "") == "hello ");
    const auto own = one->request("one", "Anna", kPatienceTime);
    REQUIRE(!own);
    CHECK(own.error().code == ErrorCode::kNotFound);
    const std::string news = fmt::format("news {}", i);
    CHECK(eventually([&] {
      one->announce(news);
      return heard_by_two.has(news);
    }));
    CHECK(eventually([&] {
      two->announce("answer to " + news);
      return heard_by_one.has("answer to " + news);
    }));
    CHECK(!heard_by_one.has(news));
    if (i == 1) break;
    servers.kill(0);
    one->announce("lost");
    const auto failed = one->request("two", "Anna", kShort);
    REQUIRE(!failed);
    CHECK(failed.error().code == ErrorCode::kBusy);
    servers.start(0);
  }
  const auto too_large = one->request("two", std::string(2 << 20, 'x'), kPatienceTime);
  REQUIRE(!too_large);
  CHECK(too_large.error().code == ErrorCode::kLimit);
}

TEST_CASE("a host that answers too late does not disturb later requests") {
  const NatsServers servers(1);
  std::mutex mutex;
  const auto one = open(options_of(servers, "one"));
  const auto two = open(options_of(servers, "two"));
  two->serve(
      [&](std::string_view request) {
        if (request == "slow") const std::lock_guard lock(mutex);
        return greet(request);
      },
      [](std::string_view) {});
  CHECK(ask(*one, "two", "Anna") == "hello Anna");
  {
    const std::lock_guard lock(mutex);
    const auto late = one->request("two", "slow", kShort);
    REQUIRE(!late);
    CHECK(late.error().code == ErrorCode::kBusy);
  }
  CHECK(ask(*one, "two", "Bert") == "hello Bert");
}

TEST_CASE("a key is stored only if it has the expected revision") {
  NatsServers servers(1);
  const auto one = open(options_of(servers, "one"));
  const auto two = open(options_of(servers, "two"));
  for (const Bucket bucket : {Bucket::kLeases, Bucket::kRecords}) {
    CHECK(value_of(*one, bucket, "queue.p1").empty());
    const auto first = put(*one, bucket, "queue.p1", "one", 0);
    CHECK(first > 0);
    CHECK(put(*two, bucket, "queue.p1", "two", 0) == 0);
    CHECK(put(*two, bucket, "queue.p2", "two", 0) > first);
    const auto second = put(*one, bucket, "queue.p1", "one again", first);
    CHECK(second > first);
    CHECK(put(*two, bucket, "queue.p1", "two", first) == 0);
    const auto found = two->get(bucket, "queue.p1");
    REQUIRE(found);
    REQUIRE(*found);
    CHECK((*found)->value == "one again");
    CHECK((*found)->revision == second);

    REQUIRE(two->erase(bucket, "queue.p1", first));
    CHECK(value_of(*two, bucket, "queue.p1") == "one again");
    REQUIRE(one->erase(bucket, "queue.p1", second));
    CHECK(value_of(*two, bucket, "queue.p1").empty());
    const auto third = put(*two, bucket, "queue.p1", "two", 0);
    CHECK(third > second);
    CHECK(put(*one, bucket, "queue.p1", "one", second) == 0);

    servers.kill(0);
    servers.start(0);
    CHECK(value_of(*one, bucket, "queue.p1") == "two");
    CHECK(put(*two, bucket, "queue.p1", "two again", third) > third);
  }
  for (const char* key : {"", ".a", "a.", "a..b", "a b", "a*", ">"})
    CHECK(one->get(Bucket::kRecords, key).error().code == ErrorCode::kInvalid);
}

TEST_CASE("a key counts correctly while two hosts race") {
  const NatsServers servers(3);
  constexpr int kCount = 30;
  std::atomic<int> stored = 0;
  std::vector<std::thread> threads;
  for (std::size_t t = 0; t < 2; ++t) {
    threads.emplace_back([&, t, stream = open(options_of(servers, fmt::format("{}", t), t))] {
      for (int i = 0; i < kCount; ++i) {
        const bool is_stored = eventually([&] {
          const auto found = stream->get(Bucket::kRecords, "count");
          if (!found) return false;
          const int old = *found ? std::stoi((*found)->value) : 0;
          const auto revision = stream->put(Bucket::kRecords, "count", fmt::format("{}", old + 1),
                                            *found ? (*found)->revision : 0);
          return revision && *revision;
        });
        stored += is_stored ? 1 : 0;
      }
    });
  }
  for (auto& thread : threads) thread.join();
  CHECK(stored == 2 * kCount);
  const auto stream = open(options_of(servers, "reader", 2));
  CHECK(value_of(*stream, Bucket::kRecords, "count") == fmt::format("{}", 2 * kCount));
}

TEST_CASE("a lease that is not renewed expires, and its old holder notices") {
  const NatsServers servers(1);
  auto options = options_of(servers, "one");
  const auto one = open(options);
  options.host = "two";
  options.lease_time = std::chrono::milliseconds(200);
  const auto two = open(options);
  const auto held = put(*one, Bucket::kLeases, "queue", "one", 0);
  const auto record = put(*one, Bucket::kRecords, "queue", "one", 0);
  CHECK(put(*two, Bucket::kLeases, "queue", "two", 0) == 0);
  CHECK(put(*two, Bucket::kRecords, "queue", "two", 0) == 0);
  std::uint64_t taken = 0;
  CHECK(eventually([&] {
    taken = put(*two, Bucket::kLeases, "queue", "two", 0);
    return taken != 0;
  }));
  CHECK(put(*one, Bucket::kLeases, "queue", "one", held) == 0);
  CHECK(value_of(*one, Bucket::kLeases, "queue") == "two");
  CHECK(eventually([&] { return value_of(*two, Bucket::kLeases, "queue").empty(); }));
  CHECK(put(*two, Bucket::kLeases, "queue", "two again", taken) > taken);
  CHECK(put(*two, Bucket::kRecords, "queue", "two", 0) == 0);
  CHECK(record > 0);
}

TEST_CASE("the permissions in the sample are sufficient for its group, and only for this group") {
  const std::string sample = read_file(QUARRY_CONF "/nats/nats-server.conf");
  const std::size_t start = sample.find("\nauthorization {");
  REQUIRE(start != std::string::npos);
  const NatsServers servers(1, "CLIENT_PASSWORD: \"sesame\"\n" +
                                   sample.substr(start, sample.find("\n}\n", start) + 3 - start));
  const TemporaryFolder folder;
  write_file(folder / "login", "quarry:sesame");
  auto options = options_of(servers, "one");
  options.credentials = folder / "login";
  options.group = "team";
  const auto one = open(options);
  options.host = "two";
  const auto two = open(options);
  options.keep = std::chrono::hours(1);
  open(options);

  CHECK(publish(*one, {message("a")}) == 1);
  CHECK(publish_after(*one, 1, {message("b")}) == 2);
  Reader reader(*two);
  CHECK(reader.next().content == "a");
  Heard heard;
  two->serve(greet, [&](std::string_view text) { heard.add(text); });
  CHECK(ask(*one, "two", "Anna") == "hello Anna");
  CHECK(eventually([&] {
    one->announce("news");
    return heard.has("news");
  }));
  for (const Bucket bucket : {Bucket::kLeases, Bucket::kRecords}) {
    const auto revision = put(*one, bucket, "key", "value", 0);
    CHECK(value_of(*two, bucket, "key") == "value");
    REQUIRE(two->erase(bucket, "key", revision));
    CHECK(value_of(*one, bucket, "key").empty());
  }

  options.group = "other";
  const auto stranger = Stream::open(options);
  REQUIRE(stranger);
  CHECK(!(*stranger)->is_connected());
  const auto refused = (*stranger)->publish(std::array{message("a")}, kShort);
  REQUIRE(!refused);
  CHECK((*stranger)->request("two", "Anna", kShort).error().code != ErrorCode::kNotFound);
}

TEST_CASE("buckets with other options are changed, and deleted buckets are created again") {
  NatsServers servers(1);
  REQUIRE(servers
              .request(0, "$JS.API.STREAM.CREATE.quarry_records-g",
                       R"({"name": "quarry_records-g", "subjects": ["quarry-records.g.>"],
                           "retention": "limits", "storage": "file", "num_replicas": 1})")
              .contains("did_create"));
  const auto stream = open(options_of(servers));
  const std::string records = servers.request(0, "$JS.API.STREAM.INFO.quarry_records-g");
  CHECK(records.contains("\"max_age\":259200000000000"));
  const std::string leases = servers.request(0, "$JS.API.STREAM.INFO.quarry_leases-g");
  CHECK(leases.contains("\"max_age\":0"));
  CHECK(leases.contains("\"max_msgs\":100000"));
  REQUIRE(servers.request(0, "$JS.API.STREAM.DELETE.quarry_records-g").contains("true"));
  CHECK(eventually([&] {
    const auto revision = stream->put(Bucket::kRecords, "key", "value", 0);
    return revision && *revision == 1;
  }));
}
