// Reads the stream and applies the entries of all hosts, also of this one (see sync/replication.h).
// One thread reads. It applies what has arrived as soon as nothing more is waiting, so a single push
// is applied at once and many are applied together.
//
// If a repository cannot be written, its entries wait in memory, and the other repositories continue.
// Later entries of the same repository are skipped; they are read again when the waiting ones have
// been applied.
//
// The file `position` in the folder of the process only tells where to start reading. Each
// repository stores its own position, and skips entries that it has already applied.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "quarry/base/log_throttle.h"
#include "quarry/replica/entry.h"
#include "quarry/replica/stream.h"
#include "repositories.h"
#include "stream_health.h"

namespace quarry::replica {

struct ApplierOptions {
  std::string host;
  std::filesystem::path position_file;
  std::size_t max_entry = std::size_t{640} << 20;  // in bytes; see EntryReader
  std::chrono::milliseconds min_delay{250};        // before a failed repository is tried again
  std::chrono::milliseconds max_delay{60000};      // doubles up to this
};

class Applier final : public ReadPosition {
 public:
  struct Figures {
    std::uint64_t sequence = 0;  // of the last message that was read
    std::uint64_t applied = 0;   // entries
    std::uint64_t skipped = 0;   // entries about projects that this host does not have
    std::uint64_t malformed = 0;
  };

  /// STREAM and HEALTH are not owned. Reads the position file. ON_CURRENT is called once, in the
  /// thread, when everything that was in the stream at the start has been applied. ON_APPLIED is
  /// called in the thread after each commit to a repository.
  Applier(Stream& stream, StreamHealth& health, const ApplierOptions& options,
          std::function<void()> on_current, std::function<void()> on_applied = {});
  ~Applier() override { stop(); }
  Applier(const Applier&) = delete;
  Applier& operator=(const Applier&) = delete;

  /// Starts the thread. Before, open all repositories whose projects are not known yet.
  void start(Repositories& repositories);
  void stop();
  /// Waits until everything that is in the stream now has been applied to ONE, and then sets its
  /// position to the end of the stream: incomplete entries and messages that are not entries do not
  /// move it. Errors: kBusy (not in TIME), and those of Repositories::use().
  Result<void> catch_up(const ReplicatedPtr& one, std::chrono::milliseconds time);
  /// Writes the position file. Waits for the disk. Call it from only one thread.
  void save();
  Figures figures() const;

  sync::ReplicaPosition start_of(const std::string& project) override;
  void opened(const std::string& project, const sync::ReplicaPosition& position,
              bool is_new) override;
  void recorded(const std::string& project) override;

 private:
  using Clock = std::chrono::steady_clock;

  /// Entries of a repository that could not be applied.
  struct Waiting {
    std::vector<Entry> entries;  // the first ones; empty if they were too large to keep
    std::uint64_t first = 0;     // sequence
    bool has_more = false;       // whether later entries were skipped
    std::chrono::milliseconds delay{0};
    Clock::time_point next_try;
  };

  void run();
  bool is_stopping() const;
  bool has_applied(const Replicated& one, std::uint64_t sequence) const;
  bool must_rewind(const std::string& project) const;
  bool can_skip_to(const Replicated& one, const sync::ReplicaPosition& end) const;
  bool go_on_reading();
  Result<void> find_position();
  std::uint64_t check_position(const sync::ReplicaPosition& position, const StreamRange& range);
  void take(StreamMessage&& message);
  void apply_batch();
  void apply_to(const std::string& project, std::vector<Entry>&& entries);
  Result<void> apply(const ReplicatedPtr& one, const std::vector<Entry>& entries,
                     std::uint64_t sequence);
  void wait_with(const std::string& project, Replicated& one, std::vector<Entry>&& entries,
                 const Error& error);
  void forget_waiting();
  void end_waiting(Replicated& one);
  void retry_waiting();
  bool retry(const std::string& project, Waiting& waiting);
  void put_back_positions(const StreamRange& range);
  void note_progress();
  void report_current();

  Stream& stream_;
  StreamHealth& health_;
  const ApplierOptions options_;
  sync::ReplicaPosition saved_;  // in the file; used only by save()
  Repositories* repositories_ = nullptr;

  // Used only by the thread:
  std::function<void()> on_current_;  // empty after the call
  std::function<void()> on_applied_;
  std::optional<std::uint64_t> end_;  // of the stream at the start
  bool is_positioned_ = false;
  bool is_failure_logged_ = false;
  EntryReader reader_;
  std::map<std::string, std::vector<Entry>> batch_;  // by project
  std::size_t batch_bytes_ = 0;
  std::size_t batch_entries_ = 0;
  std::map<std::string, Waiting> waiting_;  // by project
  std::size_t waiting_bytes_ = 0;
  base::LogThrottle malformed_log_;

  mutable std::mutex mutex_;  // guards the fields below
  std::condition_variable wake_;
  bool is_stopping_ = false;
  sync::ReplicaPosition position_;                // of the last message that was read
  std::uint64_t done_ = 0;                        // everything up to this was applied or skipped
  std::uint64_t applied_ = 0;                     // the same, but lower after a rewind
  std::uint64_t whole_ = 0;                       // EntryReader::safe_position() then
  std::map<std::string, std::uint64_t> skipped_;  // projects with the first skipped sequence
  std::map<std::string, std::uint64_t> rewinds_;  // projects with the sequence to read after
  // Projects with the first sequence that was applied after the position stored in the repository.
  std::map<std::string, std::uint64_t> unrecorded_;
  sync::ReplicaPosition progress_;            // see note_progress()
  std::set<std::filesystem::path> unsynced_;  // repositories with entries applied since save()
  Figures figures_;

  std::thread thread_;
};

}  // namespace quarry::replica
