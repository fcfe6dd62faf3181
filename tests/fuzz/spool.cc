// Input: damage to the files of a queue. Bytes are changed, and files are truncated, extended,
// exchanged or removed. The queue must still work, and must deliver only messages that were
// enqueued, in the original order.
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "memory_file_system.h"
#include "queue/disk_store.h"
#include "require.h"

using namespace quarry::spool;
using quarry::base::Error;

namespace {

constexpr std::size_t kMessages = 60;

Message numbered(std::size_t number) {
  return {.content = std::to_string(number) + std::string(number % 30, '.'), .severity = 6};
}

std::unique_ptr<DiskStore> open(MemoryFileSystem& system) {
  QueueOptions options;
  options.max_file_size = 300;
  options.checkpoint_interval = 4;
  const SpoolFiles files(system, "/", "q", false);
  auto store = DiskStore::open(files, options, [](const std::string&) {});
  REQUIRE(store);
  return std::move(*store);
}

void push(DiskStore& store, std::size_t number) {
  Message message = numbered(number);
  Error error;
  REQUIRE(store.push(std::span(&message, 1), &error) == 1);
}

MemoryFileSystem::Image files_with_messages() {
  MemoryFileSystem system;
  const auto store = open(system);
  for (std::size_t number = 0; number < kMessages; ++number) push(*store, number);
  store->settle(store->take(10), 10);
  return system.image();
}

class Input {
 public:
  Input(const std::uint8_t* data, std::size_t size) : data_(data), size_(size) {}
  bool is_empty() const { return size_ == 0; }
  std::size_t next(std::size_t below) {
    std::size_t number = 0;
    for (int i = 0; i < 2 && size_ > 0; ++i, ++data_, --size_) number = number << 8 | *data_;
    return below == 0 ? 0 : number % below;
  }

 private:
  const std::uint8_t* data_;
  std::size_t size_;
};

void spoil(MemoryFileSystem::Image& image, Input& input) {
  const auto pick = [&] {
    return std::next(image.begin(), static_cast<std::ptrdiff_t>(input.next(image.size())));
  };
  if (image.empty()) return;
  const auto file = pick();
  std::string& content = file->second;
  switch (input.next(6)) {
    case 0:
    case 1:
      if (!content.empty()) {
        content[input.next(content.size())] = static_cast<char>(input.next(256));
      }
      break;
    case 2:
      content.resize(input.next(content.size() + 1));
      break;
    case 3:
      content.append(input.next(400), static_cast<char>(input.next(256)));
      break;
    case 4:
      std::swap(content, pick()->second);
      break;
    default:
      image.erase(file);
      break;
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const MemoryFileSystem::Image whole = files_with_messages();
  MemoryFileSystem::Image image = whole;
  Input input(data, size);
  for (int i = 0; i < 8 && !input.is_empty(); ++i) spoil(image, input);
  MemoryFileSystem system(image);
  const auto store = open(system);
  push(*store, kMessages);
  std::size_t next = 0;
  while (true) {
    Batch batch = store->take(7);
    if (batch.empty()) break;
    for (const Message& message : batch.messages) {
      const std::size_t number = std::stoul(message.content);
      REQUIRE(number >= next && number <= kMessages && message == numbered(number));
      next = number + 1;
    }
    const std::size_t count = batch.messages.size();
    store->settle(std::move(batch), count);
  }
  REQUIRE(store->waiting() == 0);
  REQUIRE(next == kMessages + 1);
  return 0;
}
