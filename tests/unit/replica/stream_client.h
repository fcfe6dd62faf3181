// Hosts that use the stream of real servers.
#pragma once

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "eventually.h"
#include "nats_servers.h"
#include "quarry/replica/stream.h"

inline constexpr std::chrono::milliseconds kShort(50);

inline quarry::replica::StreamOptions options_of(const NatsServers& servers,
                                                 std::size_t first = 0) {
  quarry::replica::StreamOptions options;
  options.servers = servers.urls(first);
  options.group = "g";
  options.host = "alpha";
  options.replicas = static_cast<int>(servers.count());
  return options;
}

inline void write_file(const std::filesystem::path& path, std::string_view text) {
  std::ofstream(path) << text;
}

inline std::string read_file(const std::filesystem::path& path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), {}};
}

/// Opens a stream, and waits until it can be used.
inline std::unique_ptr<quarry::replica::Stream> open(
    const quarry::replica::StreamOptions& options) {
  auto stream = quarry::replica::Stream::open(options);
  REQUIRE_MESSAGE(stream.has_value(), (stream ? "" : stream.error().message));
  REQUIRE(eventually([&] { return (*stream)->is_connected(); }));
  return *std::move(stream);
}

inline quarry::replica::NewStreamMessage message(std::string content) {
  static int number = 0;
  return {"p1", fmt::format("id {}", ++number), std::move(content)};
}

inline std::uint64_t publish(quarry::replica::Stream& stream,
                             const std::vector<quarry::replica::NewStreamMessage>& messages) {
  const auto sequence = stream.publish(messages, kPatienceTime);
  REQUIRE_MESSAGE(sequence.has_value(), (sequence ? "" : sequence.error().message));
  return *sequence;
}

/// Returns the next message, and seeks again after an error, as callers do. Checks that the stream
/// neither skips nor repeats a message.
class Reader {
 public:
  explicit Reader(quarry::replica::Stream& stream, std::uint64_t sequence = 0)
      : stream_(stream), sequence_(sequence) {
    REQUIRE(eventually([&] { return stream_.seek(sequence_).has_value(); }));
  }
  quarry::replica::StreamMessage next() {
    std::optional<quarry::replica::StreamMessage> found;
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
  quarry::replica::Stream& stream_;
  std::uint64_t sequence_;
};
