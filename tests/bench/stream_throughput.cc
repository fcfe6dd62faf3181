// What a stream does in a second, printed as Markdown. No part of any comparison: nothing like it is
// at hand to be put beside it.
//
//   appended     N threads, each appends one message after the other, synced: what groups make of it
//   handed over  the same by N clients over a socket
//   settled      batches of 100 are taken and settled message by message; without and with a sync of
//                each batch
#include <fmt/core.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "quarry/base/socket.h"
#include "quarry/spool/hand_over.h"
#include "quarry/spool/stream.h"

namespace {

using namespace quarry::spool;
using Clock = std::chrono::steady_clock;

const std::string kContent(200, 'x');

/// What RESULT has; the program ends where it has none.
template <typename T>
T value(quarry::base::Result<T> result) {
  if (result) return std::move(*result);
  fmt::print(stderr, "stream_throughput: {}\n", result.error().message);
  std::exit(1);
}

std::unique_ptr<Stream> open_in(const std::filesystem::path& folder) {
  return value(Stream::open({.location = {.folder = folder, .name = "s"}}, {}));
}

/// How often a second ONCE, which returns whether all went well, is called in THREADS threads.
double rate(std::size_t threads, std::chrono::seconds time, const std::function<bool()>& once) {
  std::atomic<std::uint64_t> count{0};
  const auto start = Clock::now();
  {
    std::vector<std::jthread> all;
    for (std::size_t i = 0; i < threads; ++i) {
      all.emplace_back([&] {
        while (Clock::now() - start < time && once()) ++count;
      });
    }
  }
  return static_cast<double>(count) / std::chrono::duration<double>(Clock::now() - start).count();
}

double appended(const std::filesystem::path& folder, std::size_t threads,
                std::chrono::seconds time) {
  const auto stream = open_in(folder);
  value(stream->subscribe("mail"));
  const NewMessage message{.content = kContent};
  return rate(threads, time, [&] { return stream->append(std::span(&message, 1)).has_value(); });
}

double handed_over(const std::filesystem::path& folder, std::size_t clients,
                   std::chrono::seconds time) {
  const auto stream = open_in(folder);
  value(stream->subscribe("mail"));
  const std::string path = folder.string() + "/socket";
  auto listener = value(quarry::base::listen_on(value(quarry::base::SocketAddress::parse(path))));
  const auto server = value(HandOverServer::start(*stream, std::move(listener), {}));
  const std::vector<NewMessage> messages{{.content = kContent}};
  const HandOver client(path, std::chrono::seconds(10));
  return rate(clients, time, [&] { return client.hand_over(messages).has_value(); });
}

double settled(const std::filesystem::path& folder, bool is_synced, std::uint64_t count) {
  const auto stream = open_in(folder);
  SubscriptionOptions options;
  options.sync_settlements = is_synced;
  const auto mail = value(stream->subscribe("mail", options));
  const std::vector<NewMessage> messages(1000, {.content = kContent});
  for (std::uint64_t i = 0; i < count; i += messages.size()) value(stream->append(messages));
  const auto start = Clock::now();
  // One by one, or the batch.
  const std::size_t at_once = is_synced ? 100 : 1;
  std::uint64_t done = 0;
  while (true) {
    const auto taken = value(mail->take(100));
    if (taken.empty()) break;
    std::vector<Settlement> batch;
    for (const StreamedMessage& message : taken) batch.push_back({.sequence = message.sequence});
    for (std::size_t i = 0; i < batch.size(); i += at_once) {
      if (!mail->settle(std::span(batch).subspan(i, std::min(at_once, batch.size() - i))))
        std::exit(1);
    }
    done += taken.size();
  }
  return static_cast<double>(done) / std::chrono::duration<double>(Clock::now() - start).count();
}

}  // namespace

int main(int count, char** arguments) {
  CLI::App cli("what a stream does in a second");
  std::string folder;
  int seconds = 3;
  cli.add_option("FOLDER", folder, "where its files will be; made, and left there")->required();
  cli.add_option("--seconds", seconds, "for each measure")->capture_default_str();
  CLI11_PARSE(cli, count, arguments);
  const std::filesystem::path top = folder;
  std::filesystem::create_directories(top);
  const std::chrono::seconds time(seconds);
  fmt::print("| messages of {} bytes a second | |\n|---|---|\n", kContent.size());
  for (const std::size_t threads : {1U, 4U, 16U}) {
    const auto place = top / fmt::format("appended-{}", threads);
    fmt::print("| appended and synced, {} threads | {:.0f} |\n", threads,
               appended(place, threads, time));
  }
  for (const std::size_t clients : {1U, 4U, 16U}) {
    const auto place = top / fmt::format("handed-over-{}", clients);
    fmt::print("| handed over and synced, {} clients | {:.0f} |\n", clients,
               handed_over(place, clients, time));
  }
  fmt::print("| settled one by one, not synced | {:.0f} |\n",
             settled(top / "settled", false, 200'000));
  fmt::print("| settled in batches of 100, each synced | {:.0f} |\n",
             settled(top / "settled-synced", true, 50'000));
  return 0;
}
