// Read-only access to a stream's files from any process.

#include <algorithm>
#include <optional>

#include "dead_letters.h"
#include "journal.h"
#include "message_source.h"
#include "quarry/spool/stream.h"
#include "segments/segment_log.h"
#include "stream_core.h"

namespace quarry::spool {
namespace {

// Maximum number of attempts to read a journal that another process keeps replacing.
constexpr int kMaxReadings = 5;

const Reporter kSilent = [](const std::string&) {};

SpoolFiles stream_files(const SpoolLocation& location, base::FileSystem& files) {
  return {files, location.folder, location.name, false};
}

Result<SubscriptionState> state_of(const SpoolFiles& files, const std::string& subscription) {
  for (int i = 0; i < kMaxReadings; ++i) {
    QUARRY_TRY_ASSIGN(auto reading, read_journal(journal_files(files, subscription), kSilent));
    if (reading.state) return std::move(*reading.state);
  }
  return fail(ErrorCode::kNotFound, "{}: cannot find or read the journal of subscription {}",
              files.folder().string(), subscription);
}

Result<std::uint64_t> count_dead_letters(const SpoolFiles& files, const std::string& subscription) {
  std::uint64_t count = 0;
  QUARRY_TRY(visit_dead_letters(
      {.folder = files.folder(), .name = files.name()}, subscription,
      [&count](const StreamedMessage&) { return ++count > 0; }, kSilent, files.system()));
  return count;
}

/// Calls VISITOR with the messages in the stream at LETTERS, if this stream exists.
Result<void> visit_letters(const SpoolLocation& letters, const StreamVisitor& visitor,
                           const Reporter& reporter, base::FileSystem& files) {
  QUARRY_TRY_ASSIGN(const bool is_there, is_stream(letters, files));
  if (!is_there) return {};
  auto visited = visit_stream(letters, kLetters, visitor, reporter, files);
  // If files are missing, the first letter is just being written, so there are no letters yet.
  if (!visited && visited.error().code == ErrorCode::kNotFound) return {};
  return visited;
}

Result<SubscriptionStatistics> read_retired(const SpoolFiles& files,
                                            const std::string& subscription) {
  SubscriptionStatistics figures;
  figures.name = subscription;
  QUARRY_TRY(visit_letters(
      kept_messages_of({.folder = files.folder(), .name = files.name()}, subscription),
      [&figures](const StreamedMessage& message) {
        if (figures.waiting++ == 0) figures.oldest = message.taken_at;
        return true;
      },
      kSilent, files.system()));
  QUARRY_TRY_ASSIGN(figures.dead, count_dead_letters(files, subscription));
  return figures;
}

Result<SubscriptionStatistics> read_statistics(const SpoolFiles& files,
                                               const std::string& subscription, std::uint64_t end) {
  QUARRY_TRY_ASSIGN(const SubscriptionState state, state_of(files, subscription));
  SubscriptionStatistics figures = state.statistics(subscription, end);
  const SpoolLocation location{.folder = files.folder(), .name = files.name()};
  std::optional<StreamedMessage> first;
  QUARRY_TRY(visit_stream(
      location, subscription,
      [&first](const StreamedMessage& message) {
        first = message;
        return false;
      },
      kSilent, files.system()));
  if (first) figures.oldest = first->taken_at;
  // Count from the first waiting message, because the journal does not record that the subscription
  // has passed messages that were returned to another subscription.
  if (state.open().empty()) {
    figures.waiting = first ? end - std::min(end, first->sequence) : 0;
  }
  QUARRY_TRY_ASSIGN(figures.dead, count_dead_letters(files, subscription));
  return figures;
}

}  // namespace

Result<bool> is_stream(const SpoolLocation& location, base::FileSystem& files) {
  return stream_files(location, files).are_of_stream();
}

Result<StreamStatus> stream_status(const SpoolLocation& location, base::FileSystem& files) {
  const SpoolFiles stream = stream_files(location, files);
  StreamStatus status;
  QUARRY_TRY_ASSIGN(const auto sizes, stream.sizes());
  status.segments = sizes.size();
  for (const auto& [number, size] : sizes) status.bytes += size;
  QUARRY_TRY_ASSIGN(const Position first, stream.beginning());
  QUARRY_TRY_ASSIGN(const std::uint64_t end, find_end(stream, first));
  status.messages = first.sequence > 0 ? end - first.sequence : 0;
  QUARRY_TRY_ASSIGN(status.is_held, stream.is_taken(Roles::kWriter));
  QUARRY_TRY_ASSIGN(const auto names, subscription_names(stream));
  for (const std::string& name : names) {
    auto figures = read_statistics(stream, name, end);
    if (figures) status.subscriptions.push_back(std::move(*figures));
    // Skip a subscription whose files are missing, because it was just created or removed.
    if (!figures && figures.error().code != ErrorCode::kNotFound) {
      return std::unexpected(figures.error());
    }
  }
  QUARRY_TRY_ASSIGN(const auto retired, retired_names(stream));
  for (const std::string& name : retired) {
    QUARRY_TRY_ASSIGN(auto figures, read_retired(stream, name));
    status.subscriptions.push_back(std::move(figures));
  }
  return status;
}

Result<void> visit_stream(const SpoolLocation& location, const std::string& subscription,
                          const StreamVisitor& visitor, const Reporter& reporter,
                          base::FileSystem& files) {
  const SpoolFiles stream = stream_files(location, files);
  QUARRY_TRY_ASSIGN(Position start, stream.beginning());
  SubscriptionState state;
  if (!subscription.empty()) {
    QUARRY_TRY_ASSIGN(state, state_of(stream, subscription));
    start = state.open().empty() ? state.read() : state.open().begin()->second.at;
  }
  MessageSource source(stream, reporter, subscription, nullptr);
  source.start_at(start);
  while (true) {
    QUARRY_TRY_ASSIGN(auto next, source.next(UINT64_MAX));
    if (!next) return report_incomplete_if_idle(stream, reporter);
    StreamedMessage& message = next->message;
    const auto open = state.open().find(message.sequence);
    const bool is_open = open != state.open().end();
    if (!is_open && message.sequence < state.read().sequence) continue;  // already settled
    if (is_open) message.attempts = open->second.attempts;
    if (!visitor(message)) return {};
  }
}

Result<void> visit_dead_letters(const SpoolLocation& location, const std::string& subscription,
                                const StreamVisitor& visitor, const Reporter& reporter,
                                base::FileSystem& files) {
  return visit_letters(dead_letters_of(location, subscription), visitor, reporter, files);
}

}  // namespace quarry::spool
