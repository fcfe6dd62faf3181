// The messages on disk, for a disk queue or for the helper of a disk-assisted queue.
//
// The class is large because all functions use the same two positions (taken and settled), which
// must change together.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "quarry/spool/options.h"
#include "quarry/spool/queue.h"
#include "segments/segment_log.h"
#include "segments/segment_reader.h"
#include "store.h"

namespace quarry::spool {

class DiskStore final : public Store {
 public:
  /// Returns whether FILES include a queue with messages.
  static Result<bool> is_there(const SpoolFiles& files);
  /// Opens existing files, or starts without files. Reports the state of the files to REPORTER. The
  /// caller must hold the locks for ROLES. Errors: file system errors.
  static Result<std::unique_ptr<DiskStore>> open(const SpoolFiles& files,
                                                 const QueueOptions& options,
                                                 const Reporter& reporter,
                                                 Roles roles = Roles::kBoth);

  std::size_t push(std::span<Message> messages, Error* error) override;
  Batch take(std::size_t max) override;
  void settle(Batch batch, std::size_t delivered) override;
  /// Settles the first COUNT messages that were taken and are not settled. For callers that settle
  /// messages in order and never return any to the store.
  void settle_first(std::size_t count);
  std::uint64_t waiting() const override;

  /// Adds MESSAGES at the front if no message was taken yet, otherwise at the end.
  std::size_t push_front(std::span<Message> messages, Error* error);
  /// If all messages of the last segment were delivered, removes the segment, even if it is not
  /// full. Must not run concurrently with push(). Returns whether this has freed space.
  bool make_room();
  /// Moves returned messages to the end if messages after them are settled, because only one
  /// position can be stored. The order changes, but messages are not duplicated. Call it only at
  /// shutdown, and not concurrently with other functions. Errors: file system errors.
  Result<void> close_gaps();
  /// Stores the position before the first unsettled message.
  Result<void> checkpoint();
  /// Stores the position if it has changed, because the writing process might be waiting for
  /// progress.
  void publish_progress();
  /// For writers: reads the position of the delivering process.
  void refresh_progress();
  /// Starts a new segment if the last segment has messages. The previous segment can then be
  /// removed after its messages are delivered. Must not run concurrently with push().
  void end_segment();
  /// Removes all files. Call it only when all messages are settled.
  Result<void> destroy();

  /// Returns true if a message was never taken from these files.
  bool is_untouched() const { return taken_.empty() && base_ == 0 && settled_.offset == 0; }
  /// For writers: returns the position of the next message.
  Position end() const { return log_.next(); }
  /// Returns the number of messages that are left for the next start: waiting messages, and taken
  /// messages that are not settled.
  std::uint64_t unsettled() const;
  /// For readers: returns the number of messages that existed when the files were opened and were
  /// not taken yet.
  std::uint64_t left_of_found() const;
  /// Returns why the last take() did not return all available messages.
  const std::optional<Error>& trouble() const { return trouble_; }
  std::uint64_t bytes() const { return log_.usage().total(); }

 private:
  /// A taken message: the position after it, and whether it is settled.
  struct Taken {
    Position after;
    bool is_settled = false;
  };

  DiskStore(const SpoolFiles& files, const QueueOptions& options, Reporter reporter);
  Result<void> recover(Roles roles);
  Result<std::optional<Position>> recover_position(const std::vector<std::uint64_t>& segments);
  std::uint64_t known_end() const;
  Batch take_returned(std::size_t max, std::uint64_t before = UINT64_MAX);
  void leave_finished();
  void advance();
  void leave_settled();
  Result<void> remove_done();
  Result<void> remove_before(std::uint64_t number);
  void report(const Result<void>& result);

  SpoolFiles files_;
  QueueOptions options_;
  Reporter reporter_;
  SegmentLog log_;

  // --- for writers -------------------------------------------------------------------------------
  bool is_writer_ = true;
  bool has_position_ = false;  // the position file exists

  // --- for readers -------------------------------------------------------------------------------
  std::optional<SegmentReader> reader_;
  Position settled_;                           // all messages before this position are settled
  std::deque<Taken> taken_;                    // the messages after settled_
  std::uint64_t base_ = 0;                     // the ticket of the first message in taken_
  std::map<std::uint64_t, Message> returned_;  // returned messages, by ticket
  std::size_t unwritten_ = 0;                  // messages settled since the last checkpoint
  std::optional<Error> trouble_;
  std::string last_trouble_;
};

}  // namespace quarry::spool
