#include "subscription_core.h"

#include <fmt/core.h>

#include <algorithm>

#include "envelope.h"

namespace quarry::spool {

namespace {

// Maximum size of a batch in bytes. The last message of a batch can exceed the limit.
constexpr std::size_t kMaxBytesTaken = std::size_t{8} << 20;

/// Returns whether the result COMMITTED counts as success. A full disk counts as success, because
/// the events are then applied in this process without the journal.
bool counts(const Result<void>& committed) {
  return committed || committed.error().code == ErrorCode::kNoSpace;
}

}  // namespace

SubscriptionCore::SubscriptionCore(Setup setup)
    : setup_(std::move(setup)),
      state_(std::move(setup_.state)),
      source_(setup_.log.files(), setup_.reporter, setup_.name, &setup_.log.written()),
      floor_(state_.floor()) {}

void SubscriptionCore::set_options(const SubscriptionOptions& options) {
  const Lock lock(mutex_);
  options_ = options;
}

Result<void> SubscriptionCore::check_open() const {
  if (!is_closed_) return {};
  return fail(ErrorCode::kNotFound,
              "subscription " + name() + " was removed, or its stream was closed");
}

// --- taking -----------------------------------------------------------------------------------

bool SubscriptionCore::may_take() const {
  return !is_closed_ && (!options_.in_order || state_.in_flight() == 0);
}

/// Returns the number of new messages that can be taken.
std::size_t SubscriptionCore::room() const {
  const std::size_t open = state_.open().size();
  // With in_order, new messages have to wait until the postponed messages are settled.
  if (options_.in_order && state_.postponed() > 0) return 0;
  return open < options_.window ? options_.window - open : 0;
}

bool SubscriptionCore::is_ready() const {
  if (!may_take()) return false;
  return has_due() || (room() > 0 && state_.read().sequence < setup_.log.end());
}

Result<std::vector<StreamedMessage>> SubscriptionCore::take(std::size_t max) {
  const Lock lock(mutex_);
  QUARRY_TRY(check_open());
  std::vector<StreamedMessage> taken;
  if (!may_take()) return taken;
  QUARRY_TRY(take_due(max, taken));
  // Return the taken messages even after an error, because the caller has to settle each of them.
  const auto fresh = take_fresh(max - taken.size(), taken);
  if (!fresh && taken.empty()) return std::unexpected(fresh.error());
  if (!source_.damaged().empty()) setup_.log.note_damaged(source_.damaged());
  publish_floor();
  return taken;
}

/// Takes messages that are due for a retry.
Result<void> SubscriptionCore::take_due(std::size_t max, std::vector<StreamedMessage>& taken) {
  std::vector<std::uint64_t> due = state_.due(now(), max, options_.in_order);
  if (due.empty()) return {};
  QUARRY_TRY(give_up_exhausted(due));
  std::vector<Event> events;
  std::size_t bytes = 0;
  for (const std::uint64_t sequence : due) {
    if (bytes >= kMaxBytesTaken) break;
    QUARRY_TRY_ASSIGN(auto message, find(sequence));
    if (!message) {
      const Position& at = state_.open().at(sequence).at;
      setup_.reporter(fmt::format("{}: message {} is missing or unreadable",
                                  setup_.log.files().shown(at.segment), sequence));
      events.emplace_back(Lost{sequence});
      continue;
    }
    events.emplace_back(TakenAgain{sequence});
    message->attempts = state_.open().at(sequence).attempts + 1;
    bytes += message->content.size();
    taken.push_back(std::move(*message));
  }
  const auto committed = commit(events, false);
  if (counts(committed)) return {};
  taken.clear();
  return committed;
}

/// Moves messages from DUE to the dead letters if they have used all their attempts. A message is
/// still in DUE after its last attempt if the process crashed during this attempt.
Result<void> SubscriptionCore::give_up_exhausted(std::vector<std::uint64_t>& due) {
  if (options_.max_attempts == 0) return {};
  std::vector<StreamedMessage> letters;
  std::vector<Event> events;
  for (const std::uint64_t sequence : due) {
    if (state_.open().at(sequence).attempts < options_.max_attempts) continue;
    QUARRY_TRY_ASSIGN(auto message, find(sequence));
    if (!message) continue;
    message->attempts = state_.open().at(sequence).attempts;
    message->error = "the process exited during delivery";
    events.emplace_back(GivenUp{.sequence = sequence, .time = now(), .error = message->error});
    letters.push_back(std::move(*message));
  }
  if (letters.empty()) return {};
  QUARRY_TRY(setup_.dead->put(letters));
  std::erase_if(due, [&](std::uint64_t sequence) {
    return std::ranges::find(letters, sequence, &StreamedMessage::sequence) != letters.end();
  });
  const auto committed = commit(events, options_.sync_settlements);
  return counts(committed) ? Result<void>{} : committed;
}

Result<void> SubscriptionCore::take_fresh(std::size_t max, std::vector<StreamedMessage>& taken) {
  if (!std::exchange(is_at_read_, true)) source_.start_at(state_.read());
  max = std::min(max, room());
  // Read only up to the current end, because messages that other threads append during this call
  // must not count as missing.
  const std::uint64_t end = setup_.log.end();
  std::vector<Event> events;
  std::vector<std::pair<std::uint64_t, Position>> positions;
  const std::size_t before = taken.size();
  std::size_t bytes = 0;
  bool is_all = false;
  Result<void> trouble;
  while (taken.size() - before < max && bytes < kMaxBytesTaken) {
    auto next = source_.next(end);
    if (!next) trouble = std::unexpected(next.error());
    is_all = next && !*next;
    if (!next || is_all) break;
    MessageSource::NextMessage& fresh = **next;
    Taken* const run = events.empty() ? nullptr : &std::get<Taken>(events.back());
    if (run != nullptr && run->after.sequence == fresh.message.sequence) {
      run->after = source_.position();
    } else {
      events.emplace_back(Taken{.first = fresh.at, .after = source_.position()});
    }
    positions.emplace_back(fresh.message.sequence, fresh.at);
    fresh.message.attempts = 1;
    bytes += fresh.message.content.size();
    taken.push_back(std::move(fresh.message));
  }
  if (!events.empty()) {
    const auto committed = commit(events, false);
    if (!counts(committed)) {
      taken.resize(before);
      is_at_read_ = false;
      return committed;
    }
    is_journaled_ = committed.has_value();
    for (const auto& [sequence, at] : positions) state_.record_position(sequence, at);
  }
  QUARRY_TRY(trouble);
  return is_all ? pass_on(end) : Result<void>{};
}

/// Advances past messages before END that are lost or are for other subscriptions.
Result<void> SubscriptionCore::pass_on(std::uint64_t end) {
  if (source_.position().sequence < end) {
    QUARRY_TRY(setup_.log.files().check_folder());
    // The log contains more messages, so the current segment is damaged. Skip the unreadable
    // messages, and let the log start a new segment.
    source_.give_up_until(end);
    setup_.log.begin_segment();
  }
  const std::uint64_t unreadable = source_.take_missing();
  if (source_.position() == state_.read() && unreadable == 0) return {};
  // Do not journal this change separately. The event for the next message that is taken includes
  // the change.
  state_.apply(Passed{.to = source_.position(), .unreadable = unreadable});
  is_journaled_ = false;
  return {};
}

Result<std::optional<StreamedMessage>> SubscriptionCore::find(std::uint64_t sequence) {
  QUARRY_TRY_ASSIGN(auto message, source_.find(sequence, state_.open().at(sequence).at));
  // Fail if the directory was removed. A message counts as lost only if the other files still
  // exist.
  if (!message) QUARRY_TRY(setup_.log.files().check_folder());
  if (message) state_.record_position(sequence, source_.found_at());
  return message;
}

// --- storing changes --------------------------------------------------------------------------

/// Journals and applies EVENTS. On a full disk, applies the events without the journal, because the
/// removal of settled messages frees space.
Result<void> SubscriptionCore::commit(std::span<const Event> events, bool sync) {
  if (events.empty()) return {};
  const auto written = setup_.journal->append(events, state_, sync);
  if (!counts(written)) return written;
  for (const Event& event : events) state_.apply(event);
  if (written) {
    setup_.journal->compact(state_);
  } else {
    is_journaled_ = false;
  }
  return written;
}

/// Permits the removal of segments that are not needed. First stores the position durably in the
/// journal, because a restart from an earlier position would need these segments.
void SubscriptionCore::publish_floor() {
  if (state_.floor() == floor_) return;
  Result<void> written;
  if (!is_journaled_) {
    const Event passed = Passed{.to = state_.read(), .unreadable = 0};
    written = setup_.journal->append(std::span(&passed, 1), state_, false);
    is_journaled_ = written.has_value();
  }
  if (written) written = setup_.journal->sync();
  if (!counts(written)) {
    setup_.reporter(written.error().message);
    return;
  }
  floor_ = state_.floor();
  setup_.log.set_floor(name(), floor_);
}

// --- waiting ----------------------------------------------------------------------------------

bool SubscriptionCore::wait(milliseconds max) {
  const TimePoint deadline = after(max);
  while (true) {
    const std::uint64_t count = changed_.count();
    TimePoint until = deadline;
    {
      const Lock lock(mutex_);
      if (is_ready()) return true;
      const auto due = state_.next_due(options_.in_order);
      const milliseconds left(due ? std::max<std::int64_t>(*due - now(), 1) : 0);
      if (due && may_take()) until = std::min(until, spool::after(left));
    }
    if (is_woken_.exchange(false) || spool::now() >= deadline) return false;
    changed_.wait(count, until);
  }
}

void SubscriptionCore::wake() {
  is_woken_ = true;
  changed_.notify();
}

// --- for the administrator --------------------------------------------------------------------

SubscriptionStatistics SubscriptionCore::statistics() {
  const Lock lock(mutex_);
  if (is_closed_) return SubscriptionState().statistics(name(), 0);
  const std::uint64_t end = setup_.log.end();
  SubscriptionStatistics figures = state_.statistics(name(), end);
  figures.dead = setup_.dead->count();
  const auto first = state_.open().empty() ? state_.read().sequence : state_.open().begin()->first;
  if (figures.waiting > 0 && (!head_ || head_->first != first)) {
    const Position at = state_.open().empty() ? state_.read() : state_.open().begin()->second.at;
    const auto message = source_.find(first, at);
    head_.reset();
    if (message && *message) head_.emplace(first, (*message)->taken_at);
  }
  if (figures.waiting > 0 && head_) figures.oldest = head_->second;
  return figures;
}

Result<std::uint64_t> SubscriptionCore::replay_dead() {
  const Lock lock(mutex_);
  QUARRY_TRY(check_open());
  return append_again(*setup_.dead);
}

/// Appends LETTERS to the stream, for this subscription only.
Result<std::uint64_t> SubscriptionCore::append_again(DeadLetters& letters) {
  const auto again = [this](std::span<const StreamedMessage> batch) -> Result<void> {
    std::vector<Message> messages;
    for (const StreamedMessage& letter : batch) {
      messages.push_back(seal_again(letter, name(), {}, 0));
    }
    QUARRY_TRY(setup_.log.append(messages));
    return {};
  };
  const auto count = letters.take_all(again);
  changed_.notify();
  return count;
}

Result<std::uint64_t> SubscriptionCore::purge_dead() {
  const Lock lock(mutex_);
  QUARRY_TRY(check_open());
  return setup_.dead->purge();
}

void SubscriptionCore::close() {
  const Lock lock(mutex_);
  std::vector<Event> events;
  for (const auto& [sequence, message] : state_.open()) {
    if (message.is_in_flight) events.emplace_back(Returned{sequence});
  }
  if (const auto written = commit(events, options_.sync_settlements); !written) {
    setup_.reporter(written.error().message);
  }
  publish_floor();
  close_files();
}

/// Closes the files, so that threads which still hold the subscription cannot write.
void SubscriptionCore::close_files() {
  is_closed_ = true;
  setup_.journal.reset();
  setup_.dead.reset();
  changed_.notify();
}

Result<void> SubscriptionCore::remove() {
  const Lock lock(mutex_);
  QUARRY_TRY(check_open());
  // Remove the journal last, because it determines whether the subscription exists.
  QUARRY_TRY(setup_.dead->remove());
  return remove_journal();
}

Result<void> SubscriptionCore::retire(DeadLetters& kept) {
  const Lock lock(mutex_);
  QUARRY_TRY(check_open());
  std::vector<StreamedMessage> batch;
  std::size_t bytes = 0;
  const auto keep = [&](StreamedMessage message) -> Result<void> {
    bytes += message.content.size();
    batch.push_back(std::move(message));
    if (bytes < kMaxBytesTaken) return {};
    QUARRY_TRY(kept.put(batch));
    batch.clear();
    bytes = 0;
    return {};
  };
  for (const auto& [sequence, open] : state_.open()) {
    QUARRY_TRY_ASSIGN(auto message, find(sequence));
    if (message) QUARRY_TRY(keep(std::move(*message)));
  }
  source_.start_at(state_.read());
  const std::uint64_t end = setup_.log.end();
  while (true) {
    QUARRY_TRY_ASSIGN(auto next, source_.next(end));
    if (!next) break;
    QUARRY_TRY(keep(std::move(next->message)));
  }
  if (!batch.empty()) QUARRY_TRY(kept.put(batch));
  return remove_journal();
}

Result<void> SubscriptionCore::restore(DeadLetters& kept) {
  const Lock lock(mutex_);
  QUARRY_TRY(check_open());
  QUARRY_TRY(append_again(kept));
  return kept.remove();
}

/// Ends the subscription. The caller must already have removed or moved the subscription's
/// messages.
Result<void> SubscriptionCore::remove_journal() {
  QUARRY_TRY(setup_.journal->remove());
  setup_.log.forget(name());
  close_files();
  return {};
}

}  // namespace quarry::spool
