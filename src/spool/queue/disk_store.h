// Messages on the disk: what a disk queue, and the helper of a disk-assisted one, keep theirs in.
//
// Its some thirty functions are what a queue may ask for, and their steps; all go by the same two
// positions (what was taken, what is settled), which must move together.
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
  /// Whether there are files of a queue with messages.
  static base::Result<bool> is_there(const SpoolFiles& files);
  /// Opens what is there, or begins anew, and tells REPORTER what was found. The caller has the
  /// locks of ROLES. Errors: what the disk says.
  static base::Result<std::unique_ptr<DiskStore>> open(const SpoolFiles& files,
                                                       const QueueOptions& options,
                                                       const Reporter& reporter,
                                                       Roles roles = Roles::kBoth);

  std::size_t push(std::span<Message> messages, base::Error* error) override;
  Batch take(std::size_t max) override;
  void settle(Batch batch, std::size_t delivered) override;
  /// The first COUNT messages that were taken and are not settled are done with; of who never gives
  /// any back.
  void settle_first(std::size_t count);
  std::uint64_t waiting() const override;

  /// Puts MESSAGES before all others, while nothing was taken; later behind them.
  std::size_t push_front(std::span<Message> messages, base::Error* error);
  /// Removes the last segment if everything was delivered, though it is not full; for who finds no
  /// room. Not beside push(). Returns whether there is more room now.
  bool make_room();
  /// At the end, beside nothing else: puts what was given back behind everything, where later ones
  /// are settled already, since all that can be written down is one position. Several workers
  /// promise no order, but that nothing comes twice. Errors: what the disk says.
  base::Result<void> close_gaps();
  /// Writes down how far reading has come: everything before the first message not settled.
  base::Result<void> checkpoint();
  /// The same, if there is something new to write down: who writes may wait for it.
  void publish_progress();
  /// Of who only writes: how far another process has read, by what that has written down.
  void refresh_progress();
  /// Begins another segment, if the last has messages: that goes when they are delivered. Not
  /// beside push().
  void end_segment();
  /// Removes all files. Only when everything is settled.
  base::Result<void> destroy();

  /// Whether nothing was ever taken from these files.
  bool is_untouched() const { return taken_.empty() && base_ == 0 && settled_.offset == 0; }
  /// Of who writes: where the next segment and the next message will be.
  Position end() const { return log_.next(); }
  /// Messages that the next start will find: those waiting, and those taken and not settled.
  std::uint64_t unsettled() const;
  /// Messages that were there when this was opened, and were not taken yet; of who only reads.
  std::uint64_t left_of_found() const;
  /// Why the last take() gave less than there is.
  const std::optional<base::Error>& trouble() const { return trouble_; }
  std::uint64_t bytes() const { return log_.usage().total(); }

 private:
  /// A message that was taken: where the next one begins, and whether it is settled.
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

  // --- who writes ------------------------------------------------------------------------------
  bool is_writer_ = true;
  bool has_position_ = false;  // there is a position file

  // --- who reads -------------------------------------------------------------------------------
  std::optional<SegmentReader> reader_;
  Position settled_;                           // everything before is settled
  std::deque<Taken> taken_;                    // from there on
  std::uint64_t base_ = 0;                     // the ticket of the first of them
  std::map<std::uint64_t, Message> returned_;  // what was given back, by tickets
  std::size_t unwritten_ = 0;                  // settled since the last checkpoint
  std::optional<base::Error> trouble_;
  std::string last_trouble_;
};

}  // namespace quarry::spool
