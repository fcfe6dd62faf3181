// A stream in memory that several hosts of a test share. It can fail like a real one.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <set>
#include <string>
#include <vector>

#include "quarry/replica/stream.h"

/// The servers.
class MemoryEngine {
 public:
  /// Whether the servers answer at all, and whether they can store messages.
  void set_up(bool is_up);
  void set_quorum(bool has_quorum);
  /// Makes calls of publish() wait while IS_HELD.
  void hold(bool is_held);
  /// Waits until COUNT calls of publish() have begun.
  void wait_for_calls(std::size_t count);
  std::uint64_t last() const;
  void discard_before(std::uint64_t first);
  /// Loses the messages after LAST, as if a backup of the servers had been restored.
  void end_at(std::uint64_t last);
  void create_again();

 private:
  friend class MemoryStream;
  quarry::replica::StreamRange range() const;
  void change(const auto& change);

  mutable std::mutex mutex_;  // guards the fields below
  std::condition_variable changed_;
  bool is_up_ = true;
  bool has_quorum_ = true;
  bool is_held_ = false;
  std::size_t calls_ = 0;
  std::int64_t created_ = 1000;
  std::uint64_t first_ = 1;
  std::vector<quarry::replica::StreamMessage> messages_;  // the first one has the sequence first_
  std::set<std::string> ids_;
};

/// The connection of one host.
class MemoryStream final : public quarry::replica::Stream {
 public:
  explicit MemoryStream(MemoryEngine& engine) : engine_(engine) {}

  bool is_connected() const override;
  quarry::Result<quarry::replica::StreamRange> range() override;
  std::size_t max_content() const override { return 4096; }
  quarry::Result<std::uint64_t> publish(std::span<const quarry::replica::NewStreamMessage> messages,
                                        std::chrono::milliseconds time) override;
  quarry::Result<void> seek(std::uint64_t sequence) override;
  quarry::Result<std::optional<quarry::replica::StreamMessage>> next(
      std::chrono::milliseconds time) override;

 private:
  MemoryEngine& engine_;
  quarry::replica::StreamPosition position_;
};
