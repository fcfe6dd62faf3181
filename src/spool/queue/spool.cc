#include "quarry/spool/spool.h"

#include <algorithm>
#include <utility>

#include "disk_store.h"

namespace quarry::spool {
namespace {

SpoolFiles files_of(const SpoolLocation& location, base::FileSystem& files, bool synced = false) {
  return {files, location.folder, location.name, synced};
}

/// Returns the position at which delivery continues. Does not change the files.
Result<Position> delivery_position(const SpoolFiles& files) {
  const auto position = files.position();
  QUARRY_TRY_ASSIGN(const auto segments, files.segments());
  if (position && *position && files.is_of_these(**position, segments)) return **position;
  return files.beginning();
}

}  // namespace

Result<void> visit_spool(const SpoolLocation& location,
                         const std::function<bool(std::uint64_t, const Message&)>& visitor,
                         const Reporter& reporter, base::FileSystem& files) {
  const SpoolFiles spool = files_of(location, files);
  QUARRY_TRY_ASSIGN(const Position start, delivery_position(spool));
  SegmentReader reader(spool, reporter, start);
  Message message;
  for (std::uint64_t number = 1;; ++number) {
    QUARRY_TRY_ASSIGN(const bool has_one, reader.next(UINT64_MAX, message));
    if (!has_one) return report_incomplete_if_idle(spool, reporter);
    if (!visitor(number, message)) return {};
  }
}

Result<SpoolStatus> spool_status(const SpoolLocation& location, const Reporter& reporter,
                                 base::FileSystem& files) {
  const SpoolFiles spool = files_of(location, files);
  SpoolStatus status;
  QUARRY_TRY_ASSIGN(const auto sizes, spool.sizes());
  status.segments = sizes.size();
  for (const auto& [number, size] : sizes) status.bytes += size;
  const auto count = [&status](std::uint64_t, const Message&) { return ++status.messages > 0; };
  // Do not report damage, because another process might remove a segment during the read.
  QUARRY_TRY(visit_spool(
      location, count, [](const std::string&) {}, files));
  QUARRY_TRY(report_incomplete_if_idle(spool, reporter));
  QUARRY_TRY_ASSIGN(status.damaged, spool.damaged());
  QUARRY_TRY_ASSIGN(status.has_writer, spool.is_taken(Roles::kWriter));
  QUARRY_TRY_ASSIGN(status.has_reader, spool.is_taken(Roles::kReader));
  return status;
}

// --- drain ------------------------------------------------------------------------------------

struct Drain::State {
  SpoolFiles files;
  SpoolLock lock;
  std::unique_ptr<DiskStore> store;
  std::size_t unsettled = 0;
};

Drain::Drain(std::unique_ptr<State> state) : state_(std::move(state)) {}
Drain::~Drain() = default;

Result<std::unique_ptr<Drain>> Drain::open(const SpoolLocation& location,
                                           const QueueOptions& options, const Reporter& reporter,
                                           base::FileSystem& files) {
  std::unique_ptr<State> state(new State{
      .files = files_of(location, files, options.sync_queue_files), .lock = {}, .store = nullptr});
  QUARRY_TRY_ASSIGN(state->lock, state->files.lock(Roles::kReader));
  state->files.keep_to(state->lock);
  QUARRY_TRY(state->files.check_no_stream());
  QUARRY_TRY_ASSIGN(state->store, DiskStore::open(state->files, options, reporter, Roles::kReader));
  return std::unique_ptr<Drain>(new Drain(std::move(state)));
}

Result<std::vector<Message>> Drain::next(std::size_t max) {
  Batch batch = state_->store->take(max);
  if (batch.empty() && state_->store->trouble()) {
    return std::unexpected(*state_->store->trouble());
  }
  if (batch.empty()) {
    state_->store->publish_progress();
    QUARRY_TRY(state_->files.check_folder());
  }
  state_->unsettled += batch.messages.size();
  return std::move(batch.messages);
}

void Drain::settle(std::size_t count) {
  const std::size_t settled = std::min(count, state_->unsettled);
  if (settled == 0) return;
  state_->unsettled -= settled;
  state_->store->settle_first(settled);
}

Result<std::uint64_t> Drain::forget_found() {
  constexpr std::uint64_t kAtOnce = 10000;
  std::uint64_t count = 0;
  // left_of_found() counts only messages that existed when the files were opened, so the loop ends
  // even if another process keeps appending.
  while (const std::uint64_t left = state_->store->left_of_found()) {
    QUARRY_TRY_ASSIGN(const auto messages, next(std::min(left, kAtOnce)));
    if (messages.empty()) break;
    count += messages.size();
    settle(messages.size());
  }
  return count;
}

Result<void> Drain::finish() {
  QUARRY_TRY(state_->files.check_folder());
  const auto written = state_->store->is_untouched() ? Result<void>{} : state_->store->checkpoint();
  // Continue if the disk is full, because a full disk must not prevent the removal of an empty
  // queue's files.
  if (!written && written.error().code != ErrorCode::kNoSpace) return written;
  const auto writer = state_->files.lock(Roles::kWriter);
  if (!writer || state_->unsettled > 0) return written;
  // Other processes cannot write while this process holds the lock. Check for messages that arrived
  // before the lock was taken.
  Batch rest = state_->store->take(1);
  if (state_->store->trouble()) return std::unexpected(*state_->store->trouble());
  if (rest.empty()) return state_->store->destroy();
  state_->store->settle(std::move(rest), 0);
  return written;
}

Result<std::uint64_t> purge_spool(const SpoolLocation& location, const Reporter& reporter,
                                  base::FileSystem& files) {
  QUARRY_TRY_ASSIGN(const auto drain, Drain::open(location, {}, reporter, files));
  QUARRY_TRY_ASSIGN(const std::uint64_t count, drain->forget_found());
  QUARRY_TRY(drain->finish());
  return count;
}

}  // namespace quarry::spool
