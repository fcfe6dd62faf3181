// A disk store on files in memory, and helpers for its tests.
#pragma once

#include <doctest/doctest.h>

#include <memory>
#include <string>
#include <vector>

#include "memory_file_system.h"
#include "queue/disk_store.h"

namespace quarry::spool {

inline const std::string kName = "q";

inline std::string segment_file(std::uint64_t number) {
  return segment_name(kName, number);
}

/// Returns the message NUMBER.
inline Message numbered(std::size_t number) {
  return {.content = "message " + std::to_string(number),
          .severity = static_cast<std::uint8_t>(number % 8)};
}

/// A store in SYSTEM. `reported` contains the lines that the store reports.
struct StoreWorld {
  explicit StoreWorld(MemoryFileSystem& system, QueueOptions options = {}, bool synced = false,
                      const std::string& name = kName)
      : files(system, "/spool", name, synced) {
    auto opened = DiskStore::open(files, options,
                                  [this](const std::string& line) { reported += line + "\n"; });
    if (opened) {
      store = std::move(*opened);
    } else {
      error = opened.error().message;
    }
  }

  /// Pushes messages FIRST to LAST one by one. Returns the number of accepted messages.
  std::size_t push(std::size_t first, std::size_t last) {
    for (std::size_t i = first; i <= last; ++i) {
      Message message = numbered(i);
      Error refused;
      if (store->push(std::span(&message, 1), &refused) == 0) {
        error = refused.message;
        return i - first;
      }
    }
    return last + 1 - first;
  }

  /// Takes and settles all messages in batches, and returns them.
  std::vector<Message> drain(std::size_t batch_size = 7) {
    std::vector<Message> all;
    while (true) {
      Batch batch = store->take(batch_size);
      if (batch.empty()) return all;
      const std::size_t count = batch.messages.size();
      all.insert(all.end(), batch.messages.begin(), batch.messages.end());
      store->settle(std::move(batch), count);
    }
  }

  SpoolFiles files;
  std::unique_ptr<DiskStore> store;
  std::string reported;
  std::string error;
};

inline std::vector<Message> numbered_messages(std::size_t first, std::size_t last) {
  std::vector<Message> all;
  for (std::size_t i = first; i <= last; ++i) all.push_back(numbered(i));
  return all;
}

/// Returns options for segments of about five messages.
inline QueueOptions small_segments() {
  QueueOptions options;
  options.max_file_size = 150;
  return options;
}

inline bool has(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

}  // namespace quarry::spool

template <>
struct doctest::StringMaker<std::vector<quarry::spool::Message>> {
  static doctest::String convert(const std::vector<quarry::spool::Message>& messages) {
    std::string text = std::to_string(messages.size()) + " messages:";
    for (const auto& message : messages) text += " \"" + message.content + "\"";
    return text.c_str();
  }
};
