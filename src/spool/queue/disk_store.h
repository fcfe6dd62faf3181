// The messages on disk, for a disk queue or for the helper of a disk-assisted queue.
//
// The class is large because all functions work on the same two positions (taken and settled),
// which must change together.
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
  /// Returns whether there are files of a queue that contain messages.
  static base::Result<bool> is_there(const SpoolFiles& files);
  /// Opens existing files, or starts without files, and reports what was found to REPORTER. The
  /// caller holds the locks for ROLES. Errors: file system errors.
  static base::Result<std::unique_ptr<DiskStore>> open(const SpoolFiles& files,
                                                       const QueueOptions& options,
                                                       const Reporter& reporter,
                                                       Roles roles = Roles::kBoth);

  std::size_t push(std::span<Message> messages, base::Error* error) override;
  Batch take(std::size_t max) override;
  void settle(Batch batch, std::size_t delivered) override;
  /// Settles the first COUNT messages that were taken and not settled. For callers that never
  /// return messages.
  void settle_first(std::size_t count);
  std::uint64_t waiting() const override;

  /// Puts MESSAGES at the front if no message was taken yet, otherwise at the end.
  std::size_t push_front(std::span<Message> messages, base::Error* error);
  /// Removes the last segment, although it is not full, if all its messages were delivered, to free
  /// space. Must not run concurrently with push(). Returns whether there is more room now.
  bool make_room();
  /// Moves returned messages to the end if later ones are settled, because only one position can be
  /// stored. With several workers this is allowed: they do not guarantee an order, but they do not
  /// make duplicates. Call it only when the queue ends, not concurrently with other functions.
  /// Errors: file system errors.
  base::Result<void> close_gaps();
  /// Stores the position before the first unsettled message.
  base::Result<void> checkpoint();
  /// Calls checkpoint() if there is progress, because the writing process may be waiting for it.
  void publish_progress();
  /// Used by a writer: reads the position that the delivering process has reached.
  void refresh_progress();
  /// Starts a new segment if the last one has messages, so that the last one can be removed when
  /// they are delivered. Must not run concurrently with push().
  void end_segment();
  /// Removes all files. Call it only when everything is settled.
  base::Result<void> destroy();

  /// Returns whether no message was ever taken from these files.
  bool is_untouched() const { return taken_.empty() && base_ == 0 && settled_.offset == 0; }
  /// Used by a writer: returns the position of the next message.
  Position end() const { return log_.next(); }
  /// Returns the number of messages for the next start: those waiting, and those taken and not
  /// settled.
  std::uint64_t unsettled() const;
  /// Used by a reader: returns how many of the messages that existed on opening were not taken yet.
  std::uint64_t left_of_found() const;
  /// Returns why the last take() returned fewer messages than there are.
  const std::optional<base::Error>& trouble() const { return trouble_; }
  std::uint64_t bytes() const { return log_.usage().total(); }

 private:
  /// A message that was taken: the position after it, and whether it is settled.
  struct Taken {
    Position after;
    bool is_settled = false;
  };

  DiskStore(const SpoolFiles& files, const QueueOptions& options, Reporter reporter);
  base::Result<void> recover(Roles roles);
  base::Result<std::optional<Position>> recover_position(
      const std::vector<std::uint64_t>& segments);
  std::uint64_t known_end() const;
  Batch take_returned(std::size_t max, std::uint64_t before = UINT64_MAX);
  void leave_finished();
  void advance();
  void leave_settled();
  base::Result<void> remove_done();
  base::Result<void> remove_before(std::uint64_t number);
  void report(const base::Result<void>& result);

  SpoolFiles files_;
  QueueOptions options_;
  Reporter reporter_;
  SegmentLog log_;

  // --- for writers -------------------------------------------------------------------------------
  bool is_writer_ = true;
  bool has_position_ = false;  // there is a position file

  // --- for readers -------------------------------------------------------------------------------
  std::optional<SegmentReader> reader_;
  Position settled_;                           // everything before this position is settled
  std::deque<Taken> taken_;                    // the messages after settled_
  std::uint64_t base_ = 0;                     // the ticket of the first message in taken_
  std::map<std::uint64_t, Message> returned_;  // returned messages, by ticket
  std::size_t unwritten_ = 0;                  // number of messages settled since the last
                                               // checkpoint
  std::optional<base::Error> trouble_;
  std::string last_trouble_;
};

}  // namespace quarry::spool
