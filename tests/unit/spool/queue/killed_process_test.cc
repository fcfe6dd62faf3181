// Kills a process with a real queue (SIGKILL) before each of its file operations. The process
// reports through a pipe the messages that the queue has accepted and delivered.
#include <doctest/doctest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <csignal>
#include <string>

#include "killing_files.h"
#include "queue_world.h"

using namespace quarry::spool;

namespace {

constexpr int kKilledMessages = 40;
constexpr int kAtOnce = 5;

QueueOptions options_in(const TemporaryFolder& folder, bool is_disk, bool synced) {
  QueueOptions options;
  options.type = is_disk ? QueueType::kDisk : QueueType::kMemory;
  options.spool_directory = folder.path();
  options.filename = "q";
  options.size = is_disk ? 100 : 10;
  options.high_watermark = 5;
  options.low_watermark = 1;
  options.max_file_size = 1024;
  options.checkpoint_interval = 3;
  options.dequeue_batch_size = 2;
  options.save_on_shutdown = true;
  options.sync_queue_files = synced;
  options.timeout_enqueue = options.timeout_shutdown = kEternal;
  return options;
}

void send_event(int pipe, char what, int number) {
  std::array<char, 2> record{what, static_cast<char>(number)};
  (void)!::write(pipe, record.data(), record.size());
}

/// Runs in the child process until it is killed or the queue is shut down.
[[noreturn]] void live(const QueueOptions& options, int fuse_length, int pipe) {
  Fuse fuse(fuse_length);
  KillingFiles files(fuse);
  const std::string padding(80, '.');
  int calls = 0;
  const auto consumer = [&](std::span<const Message> batch, const std::stop_token&) {
    // A slow consumer forces a disk-assisted queue to write messages to the disk.
    const bool is_slow = options.type == QueueType::kMemory;
    if (is_slow && ++calls % 8 != 0)
      return Delivery{.delivered = 0, .retry_after = milliseconds(1)};
    for (const Message& message : batch) send_event(pipe, 'd', std::stoi(message.content));
    return Delivery{.delivered = batch.size()};
  };
  {
    auto queue = Queue::start(options, consumer, {}, files);
    if (!queue) ::_exit(3);
    for (int number = 1; number <= kKilledMessages; number += kAtOnce) {
      std::array<Message, kAtOnce> messages;
      for (int i = 0; i < kAtOnce; ++i) {
        messages.at(static_cast<std::size_t>(i)).content = std::to_string(number + i) + padding;
      }
      quarry::base::Error error;
      const auto taken = static_cast<int>((*queue)->enqueue(messages, Delay::kNone, &error));
      for (int i = 0; i < taken; ++i) send_event(pipe, 't', number + i);
    }
    (*queue)->shutdown();
  }
  send_event(pipe, 'e', 0);
  ::_exit(0);
}

struct Account {
  std::array<bool, kKilledMessages + 1> taken{}, delivered{};
  bool ended = false;
};

/// Runs a process until it is killed, and returns its reports.
Account account_of(const QueueOptions& options, int fuse_length) {
  Account account;
  hear_of_life([&](int pipe) { live(options, fuse_length, pipe); },
               [&account](char what, std::uint8_t number) {
                 if (what == 't') account.taken.at(number) = true;
                 if (what == 'd') account.delivered.at(number) = true;
                 if (what == 'e') account.ended = true;
               });
  return account;
}

/// Kills a process at each of its file operations. If IS_DISK is true, accepted messages are on the
/// disk at once and must not be missing.
void kill_everywhere(bool is_disk, bool synced) {
  int fuse_length = 0;
  for (bool ended = false; !ended; ++fuse_length) {
    const TemporaryFolder folder;
    const QueueOptions options = options_in(folder, is_disk, synced);
    const Account account = account_of(options, fuse_length);
    ended = account.ended;
    std::array<bool, kKilledMessages + 1> again{};
    int before = 0;
    for (const std::string& content : rest_of(options)) {
      const int number = std::stoi(content);
      CHECK(number > before);
      REQUIRE(number <= kKilledMessages);
      before = number;
      again.at(static_cast<std::size_t>(number)) = true;
    }
    for (std::size_t number = 1; number <= kKilledMessages; ++number) {
      CAPTURE(fuse_length);
      CAPTURE(number);
      const bool is_there = account.delivered.at(number) || again.at(number);
      if (is_disk || ended) CHECK((is_there || !account.taken.at(number)));
    }
    REQUIRE(fuse_length < 5000);
  }
  CHECK(fuse_length > 30);
}

}  // namespace

TEST_CASE("a disk queue that is killed at any operation keeps every acknowledged message") {
  kill_everywhere(true, false);
  kill_everywhere(true, true);
}

TEST_CASE("a disk-assisted queue that is killed at any operation keeps its order") {
  kill_everywhere(false, false);
}
