// A stream in memory that several hosts of a test share. It can fail like a real one.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <utility>
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
  /// Makes all keys of BUCKET expire.
  void expire(quarry::replica::Bucket bucket);
  /// Makes the time at which messages are stored differ from the clock of this machine.
  void set_clock(std::chrono::milliseconds difference);

 private:
  friend class MemoryStream;
  struct Host {
    std::mutex answer_mutex;  // locked while the function is called
    std::mutex listener_mutex;
    quarry::replica::Stream::Answer answer;
    quarry::replica::Stream::Listener listener;
  };
  using Key = std::pair<quarry::replica::Bucket, std::string>;

  quarry::replica::StreamRange range() const;
  bool can_store() const { return is_up_ && has_quorum_; }
  void change(const auto& change);

  mutable std::mutex mutex_;  // guards the fields below
  std::condition_variable changed_;
  bool is_up_ = true;
  bool has_quorum_ = true;
  bool is_held_ = false;
  std::size_t calls_ = 0;
  std::int64_t created_ = 1000;
  std::chrono::milliseconds clock_difference_{0};
  std::uint64_t first_ = 1;
  std::vector<quarry::replica::StreamMessage> messages_;  // the first one has the sequence first_
  std::set<std::string> ids_;
  std::map<std::string, std::shared_ptr<Host>> hosts_;
  std::map<Key, quarry::replica::KeyValue> values_;
  std::uint64_t revision_ = 0;
};

/// The connection of one host. Requests and announcements are handled in the thread that sends them.
class MemoryStream final : public quarry::replica::Stream {
 public:
  explicit MemoryStream(MemoryEngine& engine, std::string host = "alpha")
      : engine_(engine), host_(std::move(host)) {}
  ~MemoryStream() override;
  /// Whether next() skips messages, as if this host's server did not have them.
  void lose(bool loses) { loses_ = loses; }
  /// Returns whether next() has returned or skipped all messages.
  bool is_at_end() const;
  std::size_t requests() const { return requests_; }
  MemoryStream(const MemoryStream&) = delete;
  MemoryStream& operator=(const MemoryStream&) = delete;

  bool is_connected() const override;
  quarry::Result<quarry::replica::StreamRange> range() override;
  std::size_t max_content() const override { return 4096; }
  quarry::Result<std::uint64_t> publish(std::span<const quarry::replica::NewStreamMessage> messages,
                                        std::chrono::milliseconds time) override;
  quarry::Result<std::uint64_t> publish_after(
      std::uint64_t expected, std::span<const quarry::replica::NewStreamMessage> messages,
      std::chrono::milliseconds time) override;
  void serve(Answer answer, Listener listener) override;
  quarry::Result<std::string> request(const std::string& host, std::string_view request,
                                      std::chrono::milliseconds time) override;
  void announce(std::string_view text) override;
  quarry::Result<std::optional<quarry::replica::KeyValue>> get(quarry::replica::Bucket bucket,
                                                               const std::string& key) override;
  quarry::Result<std::optional<std::uint64_t>> put(quarry::replica::Bucket bucket,
                                                   const std::string& key, std::string_view value,
                                                   std::uint64_t expected) override;
  quarry::Result<void> erase(quarry::replica::Bucket bucket, const std::string& key,
                             std::uint64_t revision) override;
  quarry::Result<void> seek(std::uint64_t sequence) override;
  quarry::Result<std::optional<quarry::replica::StreamMessage>> next(
      std::chrono::milliseconds time) override;

 private:
  MemoryEngine& engine_;
  const std::string host_;
  std::atomic<bool> loses_ = false;
  std::atomic<std::size_t> requests_ = 0;
  quarry::replica::StreamPosition position_;
};
