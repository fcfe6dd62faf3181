#include "applier.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <utility>

#include "quarry/base/fd.h"
#include "quarry/base/log.h"

namespace quarry::replica {
namespace {

using base::LogLevel;
using std::chrono::milliseconds;

// How long to wait for a message. Stopping the process can take as long.
constexpr milliseconds kIdleTime{200};
constexpr milliseconds kFailedTime{250};
constexpr std::size_t kMaxBatchBytes = std::size_t{16} << 20;
constexpr std::size_t kMaxBatchEntries = 1000;
// Maximum number of bytes of all entries that wait for their repositories.
constexpr std::size_t kMaxWaitingBytes = std::size_t{64} << 20;

std::size_t size_of(const std::vector<Entry>& entries) {
  std::size_t size = 0;
  for (const Entry& each : entries) size += each.content.size();
  return size;
}

/// Returns the position in PATH, or the beginning of the stream if the file does not exist: each
/// repository skips entries that it has already applied.
sync::ReplicaPosition read_position(const std::filesystem::path& path) {
  std::ifstream file(path);
  sync::ReplicaPosition position;
  file >> position.created >> position.sequence;
  return file ? position : sync::ReplicaPosition{};
}

}  // namespace

Applier::Applier(Stream& stream, StreamHealth& health, const ApplierOptions& options,
                 std::function<void()> on_current, std::function<void()> on_applied)
    : stream_(stream),
      health_(health),
      options_(options),
      saved_(read_position(options.position_file)),
      on_current_(std::move(on_current)),
      on_applied_(std::move(on_applied)),
      reader_(options.max_entry),
      position_(saved_),
      done_(saved_.sequence),
      progress_(saved_) {}

void Applier::start(Repositories& repositories) {
  {
    const std::lock_guard lock(mutex_);
    repositories_ = &repositories;
  }
  thread_ = std::thread([this] { run(); });
}

void Applier::stop() {
  {
    const std::lock_guard lock(mutex_);
    is_stopping_ = true;
  }
  wake_.notify_all();
  if (thread_.joinable()) thread_.join();
}

bool Applier::is_stopping() const {
  const std::lock_guard lock(mutex_);
  return is_stopping_;
}

Applier::Figures Applier::figures() const {
  const std::lock_guard lock(mutex_);
  Figures figures = figures_;
  figures.sequence = position_.sequence;
  return figures;
}

sync::ReplicaPosition Applier::start_of(const std::string& project) {
  const std::lock_guard lock(mutex_);
  const auto skipped = skipped_.find(project);
  return {position_.created, skipped == skipped_.end() ? done_ : skipped->second - 1};
}

void Applier::recorded(const std::string& project) {
  const std::lock_guard lock(mutex_);
  unrecorded_.erase(project);
}

void Applier::opened(const std::string& project, const sync::ReplicaPosition& position,
                     bool is_new) {
  const std::lock_guard lock(mutex_);
  const bool were_skipped = skipped_.erase(project) > 0;
  const std::uint64_t sequence = position.created == position_.created ? position.sequence : 0;
  if ((were_skipped || is_new) && sequence < done_) rewinds_[project] = sequence;
}

// --- reading -------------------------------------------------------------------------------------

void Applier::run() {
  while (!is_stopping()) {
    if (!go_on_reading()) {
      apply_batch();
      is_positioned_ = false;
      std::unique_lock lock(mutex_);
      wake_.wait_for(lock, kFailedTime, [this] { return is_stopping_; });
    }
    retry_waiting();
    if (is_positioned_ && batch_entries_ == 0) {
      note_progress();
      report_current();
    }
  }
}

/// Reads one message, or applies those that were read if no further message is waiting. Returns
/// false if the stream cannot be read.
bool Applier::go_on_reading() {
  bool must_rewind = false;
  {
    const std::lock_guard lock(mutex_);
    must_rewind = !rewinds_.empty();
  }
  if (must_rewind) {
    apply_batch();
    is_positioned_ = false;
  }
  Result<void> ready;
  if (!is_positioned_) ready = find_position();
  Result<std::optional<StreamMessage>> message;
  if (ready) message = stream_.next(batch_entries_ == 0 ? kIdleTime : milliseconds(0));
  if (!ready || !message) {
    const Error& error = ready ? message.error() : ready.error();
    if (health_.check() && !std::exchange(is_failure_logged_, true)) {
      base::log(LogLevel::kWarning, "cannot read the stream: {}; retrying", error.message);
    }
    return false;
  }
  if (std::exchange(is_failure_logged_, false)) {
    base::log(LogLevel::kNotice, "reading the stream again");
  }
  if (*message) take(*std::move(*message));
  const bool is_full = batch_bytes_ >= kMaxBatchBytes || batch_entries_ >= kMaxBatchEntries;
  if (!*message || is_full) apply_batch();
  return true;
}

void Applier::take(StreamMessage&& message) {
  {
    const std::lock_guard lock(mutex_);
    position_.sequence = message.sequence;
  }
  auto entry = reader_.add(std::move(message));
  if (!entry) {
    malformed_log_.warn(entry.error().message);
    const std::lock_guard lock(mutex_);
    ++figures_.malformed;
  } else if (*entry) {
    if ((*entry)->host == options_.host) health_.stored((*entry)->sequence, (*entry)->stored);
    batch_bytes_ += (*entry)->content.size();
    ++batch_entries_;
    std::string project = (*entry)->project;
    batch_[std::move(project)].push_back(*std::move(*entry));
  }
}

/// Makes the stream continue after the last message that was read, or earlier if a repository needs
/// earlier messages.
Result<void> Applier::find_position() {
  QUARRY_TRY_ASSIGN(const StreamRange range, stream_.range());
  sync::ReplicaPosition old;
  std::map<std::string, std::uint64_t> rewinds;
  {
    const std::lock_guard lock(mutex_);
    old = position_;
    rewinds = rewinds_;
  }
  const std::uint64_t start = check_position(old, range);
  const bool is_same = old.created == range.created && start >= old.sequence;
  if (!is_same) {
    forget_waiting();
    rewinds.clear();
  }
  std::uint64_t sequence = start;
  for (const auto& [project, wanted] : rewinds) {
    sequence = std::min(sequence, std::max(wanted, range.first - 1));
    const ReplicatedPtr one = repositories_->of_project(project);
    if (wanted + 1 >= range.first || !one) continue;
    base::log(LogLevel::kWarning,
              "{}: the stream no longer has the messages {} to {}; comparing with other hosts",
              one->path.string(), wanted + 1, range.first - 1);
    repositories_->change(*one, [](Facts& facts) { facts.need_sync(); });
  }
  QUARRY_TRY(stream_.seek(sequence));
  const sync::ReplicaPosition position{range.created, sequence};
  if (position != old) reader_ = EntryReader(options_.max_entry);
  const std::lock_guard lock(mutex_);
  position_ = position;
  applied_ = sequence;
  if (!is_same) {
    skipped_.clear();
    rewinds_.clear();
    unrecorded_.clear();
  }
  done_ = old.created == range.created && start == old.sequence ? std::max(done_, start) : start;
  for (const auto& [project, wanted] : rewinds) {
    const auto at = rewinds_.find(project);
    if (at->second >= wanted) rewinds_.erase(at);
  }
  is_positioned_ = true;
  if (!end_) end_ = range.last;
  return {};
}

/// Returns the sequence after which to read. If messages are missing, logs that and marks the
/// repositories.
std::uint64_t Applier::check_position(const sync::ReplicaPosition& position,
                                      const StreamRange& range) {
  std::uint64_t sequence = position.sequence;
  std::string problem;
  if (position.created != 0 && position.created != range.created) {
    problem = "the stream was deleted and created again";
    sequence = range.first - 1;
  } else if (position.sequence > range.last) {
    problem = fmt::format("the stream ends at message {}, but message {} was read before",
                          range.last, position.sequence);
    put_back_positions(range);
    sequence = range.last;
  } else if (position.sequence + 1 < range.first) {
    problem = fmt::format("the stream discarded the messages {} to {} before they were read",
                          position.sequence + 1, range.first - 1);
    sequence = range.first - 1;
  }
  if (!problem.empty()) {
    base::log(LogLevel::kError, "{}; comparing all repositories with other hosts", problem);
    repositories_->need_sync();
  }
  return sequence;
}

/// Moves positions after the end of the stream back to its end. If the stream has lost its newest
/// messages, new messages get the same sequences, and repositories must not skip them.
void Applier::put_back_positions(const StreamRange& range) {
  const sync::ReplicaPosition end{range.created, range.last};
  for (const ReplicatedPtr& one : repositories_->all()) {
    const auto done = repositories_->use(one, [&](sync::Replication& replication) -> Result<void> {
      QUARRY_TRY_ASSIGN(const auto position, replication.position());
      if (position.created != end.created || position.sequence <= end.sequence) return {};
      QUARRY_TRY(replication.apply({}, end));
      repositories_->change(*one, [&](Facts& facts) { facts.position = end; });
      return {};
    });
    if (!done)
      base::log(LogLevel::kError, "cannot move the position back: {}", done.error().message);
  }
}

// --- applying ------------------------------------------------------------------------------------

void Applier::apply_batch() {
  for (auto& [project, entries] : std::exchange(batch_, {})) {
    apply_to(project, std::move(entries));
  }
  batch_bytes_ = 0;
  batch_entries_ = 0;
  {
    const std::lock_guard lock(mutex_);
    done_ = std::max(done_, position_.sequence);
    applied_ = position_.sequence;
    whole_ = reader_.safe_position(position_.sequence);
  }
  wake_.notify_all();
}

/// Returns whether everything up to SEQUENCE has been applied to ONE. mutex_ must be locked.
bool Applier::has_applied(const Replicated& one, std::uint64_t sequence) const {
  const Facts facts = repositories_->facts(one);
  return applied_ >= sequence && facts.waiting == 0 && !rewinds_.contains(facts.project) &&
         !skipped_.contains(facts.project);
}

/// Returns whether the messages up to END contain nothing else for ONE.
bool Applier::can_skip_to(const Replicated& one, const sync::ReplicaPosition& end) const {
  const std::lock_guard lock(mutex_);
  return position_.created == end.created && whole_ >= end.sequence &&
         has_applied(one, end.sequence);
}

Result<void> Applier::catch_up(const ReplicatedPtr& one, std::chrono::milliseconds time) {
  QUARRY_TRY(health_.check());
  QUARRY_TRY_ASSIGN(const StreamRange range, stream_.range());
  {
    std::unique_lock lock(mutex_);
    const bool is_current = wake_.wait_for(lock, time, [&] {
      return is_stopping_ || (repositories_ != nullptr && has_applied(*one, range.last));
    });
    if (!is_current || is_stopping_) {
      return fail(ErrorCode::kBusy, "the changes of other hosts are not applied yet");
    }
  }
  return repositories_->use(one, [&](sync::Replication& replication) -> Result<void> {
    QUARRY_TRY_ASSIGN(const auto position, replication.position());
    const sync::ReplicaPosition end{range.created, range.last};
    const bool is_before = position.created != end.created || position.sequence < end.sequence;
    if (is_before && can_skip_to(*one, end)) {
      QUARRY_TRY(replication.apply({}, end));
      repositories_->change(*one, [&](Facts& facts) { facts.position = end; });
    }
    // The caller reads the position in the repository.
    QUARRY_TRY(replication.record_progress());
    recorded(repositories_->facts(*one).project);
    return {};
  });
}

void Applier::apply_to(const std::string& project, std::vector<Entry>&& entries) {
  const ReplicatedPtr one = repositories_->of_project(project);
  if (!one) {
    const std::lock_guard lock(mutex_);
    skipped_.try_emplace(project, entries.front().sequence);
    figures_.skipped += entries.size();
    return;
  }
  if (const auto waiting = waiting_.find(project); waiting != waiting_.end()) {
    waiting->second.has_more = true;
    repositories_->change(*one, [&](Facts& facts) { facts.waiting += entries.size(); });
    return;
  }
  // After a rewind, most repositories have already applied the entries.
  const Facts facts = repositories_->facts(*one);
  if (facts.was_opened && facts.position.created == position_.created) {
    std::erase_if(entries,
                  [&](const Entry& each) { return each.sequence <= facts.position.sequence; });
  }
  if (entries.empty()) return;
  const auto applied = apply(one, entries, entries.back().sequence);
  if (!applied) wait_with(project, *one, std::move(entries), applied.error());
}

bool Applier::must_rewind(const std::string& project) const {
  const std::lock_guard lock(mutex_);
  return rewinds_.contains(project);
}

/// Applies ENTRIES and sets the position of ONE to SEQUENCE, unless entries before ENTRIES have to be
/// read again.
Result<void> Applier::apply(const ReplicatedPtr& one, const std::vector<Entry>& entries,
                            std::uint64_t sequence) {
  std::vector<sync::IncomingEntry> incoming;
  for (const Entry& each : entries) {
    incoming.push_back({.sequence = each.sequence,
                        .is_own = each.host == options_.host,
                        .host = each.host,
                        .content = each.content});
  }
  const sync::ReplicaPosition end{position_.created, sequence};
  bool is_skipped = false;
  const auto applied = repositories_->use(one, [&](sync::Replication& replication) -> Result<void> {
    const std::string project = repositories_->facts(*one).project;
    // Opening the repository can show that it lacks earlier entries. These and ENTRIES are read again.
    is_skipped = must_rewind(project);
    if (is_skipped) return {};
    QUARRY_TRY(replication.apply(incoming, end));
    repositories_->change(*one, [&](Facts& facts) { facts.position = end; });
    const std::lock_guard lock(mutex_);
    if (!replication.has_unrecorded_position()) {
      unrecorded_.erase(project);
    } else if (!entries.empty()) {
      unrecorded_.try_emplace(project, entries.front().sequence);
    }
    return {};
  });
  if (!applied) return applied;
  if (on_applied_) on_applied_();
  repositories_->keep_log_short(one);
  const std::lock_guard lock(mutex_);
  unsynced_.insert(one->path);
  figures_.applied += entries.size();
  return {};
}

/// Keeps ENTRIES, which could not be applied because of ERROR.
void Applier::wait_with(const std::string& project, Replicated& one, std::vector<Entry>&& entries,
                        const Error& error) {
  if (!is_stopping()) {
    base::log(LogLevel::kWarning, "cannot apply changes of other hosts: {}; retrying",
              error.message);
  }
  repositories_->change(one, [&](Facts& facts) {
    facts.apply_error = error.message;
    facts.waiting = entries.size();
    facts.oldest_waiting = base::system_clock().now();
  });
  Waiting& waiting = waiting_[project];
  waiting.first = entries.front().sequence;
  waiting.delay = options_.min_delay;
  waiting.next_try = Clock::now() + waiting.delay;
  const std::size_t size = size_of(entries);
  if (waiting_bytes_ + size > kMaxWaitingBytes) return;
  waiting_bytes_ += size;
  waiting.entries = std::move(entries);
}

void Applier::retry_waiting() {
  for (auto each = waiting_.begin(); each != waiting_.end();) {
    auto& [project, waiting] = *each;
    if (Clock::now() < waiting.next_try || !retry(project, waiting)) {
      ++each;
      continue;
    }
    waiting_bytes_ -= size_of(waiting.entries);
    each = waiting_.erase(each);
  }
}

/// Drops the waiting entries, because the stream now uses their sequences for other entries.
void Applier::forget_waiting() {
  for (const auto& [project, waiting] : std::exchange(waiting_, {})) {
    if (const ReplicatedPtr one = repositories_->of_project(project)) end_waiting(*one);
  }
  waiting_bytes_ = 0;
}

void Applier::end_waiting(Replicated& one) {
  repositories_->change(one, [](Facts& facts) {
    facts.apply_error.clear();
    facts.waiting = 0;
  });
}

/// Returns whether PROJECT's repository no longer waits.
bool Applier::retry(const std::string& project, Waiting& waiting) {
  const ReplicatedPtr one = repositories_->of_project(project);
  if (!one) return true;
  const bool has_entries = !waiting.entries.empty();
  const std::uint64_t end = has_entries ? waiting.entries.back().sequence : waiting.first - 1;
  const auto applied = apply(one, waiting.entries, end);
  if (!applied) {
    waiting.delay = std::min(waiting.delay * 2, options_.max_delay);
    waiting.next_try = Clock::now() + waiting.delay;
    repositories_->change(*one, [&](Facts& facts) { facts.apply_error = applied.error().message; });
    return false;
  }
  base::log(LogLevel::kNotice, "{}: changes of other hosts can be applied again",
            one->path.string());
  // First the rewind, so that catch_up() does not take the repository for current in between.
  if (!has_entries || waiting.has_more) {
    const std::lock_guard lock(mutex_);
    rewinds_.try_emplace(project, end);
  }
  end_waiting(*one);
  return true;
}

void Applier::report_current() {
  if (!on_current_ || position_.sequence < *end_) return;
  std::exchange(on_current_, {})();
}

/// Records what save() can store: the position up to which everything was applied.
void Applier::note_progress() {
  const std::lock_guard lock(mutex_);
  progress_ = {position_.created, reader_.safe_position(position_.sequence)};
  for (const auto& [project, wanted] : rewinds_) {
    progress_.sequence = std::min(progress_.sequence, wanted);
  }
  for (const auto& [project, first] : unrecorded_) {
    progress_.sequence = std::min(progress_.sequence, first - 1);
  }
  for (const auto& [project, waiting] : waiting_) {
    progress_.sequence = std::min(progress_.sequence, waiting.first - 1);
  }
}

void Applier::save() {
  std::set<std::filesystem::path> unsynced;
  sync::ReplicaPosition position;
  {
    const std::lock_guard lock(mutex_);
    position = progress_;
    unsynced.swap(unsynced_);
  }
  // The commits that apply entries are not synced to the disk. After a power failure, the process
  // must read these entries again.
  for (const std::filesystem::path& path : unsynced) {
    const base::Fd log(::open((path.native() + "-wal").c_str(), O_RDONLY | O_CLOEXEC));
    if (log) ::fdatasync(log.get());
  }
  if (position == saved_) return;
  const auto saved = replace_file(options_.position_file,
                                  fmt::format("{} {}\n", position.created, position.sequence));
  if (!saved) return base::log(LogLevel::kError, "{}", saved.error().message);
  saved_ = position;
}

}  // namespace quarry::replica
