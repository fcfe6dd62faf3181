#include "quarry/replica/entry.h"

#include <doctest/doctest.h>

#include <algorithm>

using namespace quarry;
using replica::Entry;
using replica::EntryReader;
using replica::messages_of;

namespace {

constexpr std::size_t kMax = 1000;
const std::string kLong(3000, 'x');

/// Gives messages to a reader, with consecutive sequence numbers.
struct Feed {
  EntryReader reader{10000};
  std::uint64_t last = 0;
  base::UnixMillis now{1'000'000};

  Result<std::optional<Entry>> add(const replica::NewStreamMessage& message) {
    return reader.add({++last, message.project, now, message.content});
  }
  bool completes(const replica::NewStreamMessage& message) {
    const auto entry = add(message);
    REQUIRE(entry.has_value());
    return entry->has_value();
  }
};

}  // namespace

TEST_CASE("an entry that fits into one message is read from it") {
  Feed feed;
  const auto messages = messages_of("p1", "alpha", "a change", kMax);
  REQUIRE(messages.size() == 1);
  const auto entry = feed.add(messages[0]);
  REQUIRE(entry);
  REQUIRE(*entry);
  CHECK((*entry)->sequence == 1);
  CHECK((*entry)->project == "p1");
  CHECK((*entry)->host == "alpha");
  CHECK((*entry)->content == "a change");
  CHECK(feed.reader.safe_position(1) == 1);
}

TEST_CASE("an empty entry is published as one message") {
  Feed feed;
  const auto messages = messages_of("p1", "alpha", "", kMax);
  REQUIRE(messages.size() == 1);
  CHECK(feed.completes(messages[0]));
}

TEST_CASE("a large entry is published in parts that are not larger than the maximum") {
  Feed feed;
  const auto messages = messages_of("p1", "alpha", kLong, kMax);
  CHECK(messages.size() > 3);
  for (const auto& message : messages) CHECK(message.content.size() <= kMax);
  for (std::size_t i = 0; i + 1 < messages.size(); ++i) CHECK(!feed.completes(messages[i]));
  const auto entry = feed.add(messages.back());
  REQUIRE(entry);
  REQUIRE(*entry);
  CHECK((*entry)->content == kLong);
}

TEST_CASE("the same entry has the same ids, and any other entry has other ids") {
  const auto id = [](std::string_view project, std::string_view host, std::string_view content) {
    return messages_of(project, host, content, kMax)[0].id;
  };
  CHECK(id("p1", "alpha", "x") == id("p1", "alpha", "x"));
  CHECK(id("p1", "alpha", "x") != id("p2", "alpha", "x"));
  CHECK(id("p1", "alpha", "x") != id("p1", "beta", "x"));
  CHECK(id("p1", "alpha", "x") != id("p1", "alpha", "y"));
  auto parts = messages_of("p1", "alpha", kLong, kMax);
  std::ranges::sort(parts, {}, &replica::NewStreamMessage::id);
  CHECK(std::ranges::adjacent_find(parts, {}, &replica::NewStreamMessage::id) == parts.end());
}

TEST_CASE("parts of other entries of the same host can come between the parts of an entry") {
  Feed feed;
  const auto first = messages_of("p1", "alpha", kLong, kMax);
  const auto second = messages_of("p1", "alpha", std::string(3000, 'y'), kMax);
  for (std::size_t i = 0; i + 1 < first.size(); ++i) {
    CHECK(!feed.completes(first[i]));
    CHECK(!feed.completes(second[i]));
  }
  CHECK(feed.completes(first.back()));
  CHECK(feed.completes(second.back()));
}

TEST_CASE("an entry whose parts come repeatedly and in another order is read once") {
  Feed feed;
  const auto messages = messages_of("p1", "alpha", kLong, kMax);
  for (std::size_t i = messages.size() - 1; i > 0; --i) CHECK(!feed.completes(messages[i]));
  for (std::size_t i = messages.size() - 1; i > 0; --i) CHECK(!feed.completes(messages[i]));
  CHECK(feed.completes(messages[0]));
}

TEST_CASE("the safe position is before the first part of an incomplete entry") {
  Feed feed;
  const auto large = messages_of("p1", "alpha", kLong, kMax);
  CHECK(feed.completes(messages_of("p2", "alpha", "x", kMax)[0]));
  CHECK(!feed.completes(large[0]));
  CHECK(feed.completes(messages_of("p1", "beta", "x", kMax)[0]));
  CHECK(feed.reader.safe_position(feed.last) == 1);
  for (std::size_t i = 1; i < large.size(); ++i) feed.completes(large[i]);
  CHECK(feed.reader.safe_position(feed.last) == feed.last);
}

TEST_CASE("an incomplete entry is discarded after an hour by the time of NATS") {
  Feed feed;
  const auto large = messages_of("p1", "alpha", kLong, kMax);
  CHECK(!feed.completes(large[0]));
  feed.now.value += 59 * 60'000;
  CHECK(!feed.completes(large[1]));
  feed.now.value += 59 * 60'000;
  CHECK(feed.completes(messages_of("p2", "alpha", "x", kMax)[0]));
  CHECK(feed.reader.safe_position(feed.last) == 0);
  feed.now.value += 2 * 60'000;
  CHECK(feed.completes(messages_of("p2", "alpha", "y", kMax)[0]));
  CHECK(feed.reader.safe_position(feed.last) == feed.last);
}

TEST_CASE("an entry larger than the maximum is an error, and its parts are not kept") {
  Feed feed;
  const auto messages = messages_of("p1", "alpha", std::string(20000, 'x'), kMax);
  Result<std::optional<Entry>> last = std::nullopt;
  for (const auto& message : messages)
    if (last = feed.add(message); !last) break;
  REQUIRE(!last);
  CHECK(last.error().code == ErrorCode::kLimit);
  CHECK(feed.reader.safe_position(feed.last) == feed.last);
}

TEST_CASE("the entry that has waited longest is discarded if incomplete entries are too large") {
  Feed feed;
  const auto add_all_but_last = [&](std::string_view host) {
    const auto messages = messages_of("p1", host, std::string(6000, 'x'), kMax);
    for (std::size_t i = 0; i + 1 < messages.size(); ++i) CHECK(!feed.completes(messages[i]));
    ++feed.now.value;
    return messages.back();
  };
  const auto alpha = add_all_but_last("alpha");
  const auto beta = add_all_but_last("beta");
  CHECK(feed.completes(beta));
  CHECK(!feed.completes(alpha));
}

TEST_CASE("malformed and damaged messages are errors") {
  Feed feed;
  const auto good = messages_of("p1", "alpha", "a change", kMax)[0];
  const std::string entry = good.content.substr(15, 64);
  const auto code_of = [&](std::string content) {
    const auto result = feed.add({"p1", "", std::move(content)});
    return result ? std::optional<ErrorCode>() : result.error().code;
  };
  for (const std::string& content :
       {std::string(), std::string("\n"), std::string("quarry 1 alpha"),
        "quarry 2 alpha " + entry + " 1 1\nx", "quarry 1  " + entry + " 1 1\nx",
        "quarry 1 alpha " + entry + " 0 1\nx", "quarry 1 alpha " + entry + " 2 1\nx",
        "quarry 1 alpha " + entry + " 1 1 1\nx", std::string("quarry 1 alpha abc 1 1\nx"),
        "quarry 1 alpha " + entry + " -1 1\nx", std::string(100000, 'x')}) {
    CAPTURE(content.substr(0, 100));
    CHECK(code_of(content) == ErrorCode::kInvalid);
  }
  CHECK(code_of(good.content + "!") == ErrorCode::kInvalid);
  CHECK(feed.add({"p2", "", good.content}).error().code == ErrorCode::kInvalid);
  CHECK(feed.completes(good));
}

TEST_CASE("an entry whose parts disagree about their number is discarded") {
  Feed feed;
  const auto large = messages_of("p1", "alpha", kLong, kMax);
  auto other = large[1];
  const std::size_t end = other.content.find('\n');
  other.content.replace(end - 1, 1, "9");
  CHECK(!feed.completes(large[0]));
  const auto result = feed.add(other);
  REQUIRE(!result);
  CHECK(result.error().code == ErrorCode::kInvalid);
  CHECK(feed.reader.safe_position(feed.last) == feed.last);
}
