#include "quarry/repository/compaction.h"

#include <fmt/core.h>

#include <algorithm>
#include <thread>

#include "compaction_progress.h"
#include "deltification.h"
#include "quarry/repository/repository.h"
#include "repository_state.h"

namespace quarry::repository {

using std::chrono::steady_clock;

namespace {

// Size of the content cache in bytes. The cache usually contains the source of the next delta.
constexpr std::size_t kCacheSize = std::size_t{32} << 20;
constexpr std::size_t kMaxDamage = 100;
// Limits of a plan: number of artifacts, bytes (including contents, which are held in memory), and
// time.
constexpr std::size_t kMaxPlanned = 200;
constexpr std::size_t kMaxBytes = std::size_t{16} << 20;
constexpr std::chrono::milliseconds kPlanningTime{200};
// After this number of consecutive unused row ids, a query finds the next row. This query is faster
// than looking up more ids, even if SQLite scans the whole table.
constexpr int kWideGap = 10000;
// Time for which the write lock is held. This time is sufficient for an artifact of usual size.
constexpr std::chrono::milliseconds kLockTime{15};
constexpr std::chrono::milliseconds kLongestRest{1000};
constexpr std::chrono::seconds kLongestClone{std::chrono::hours(24)};

/// One call of Compaction::run(): makes passes over the file, in slices.
class CompactionRun {
 public:
  CompactionRun(Repository& repository, const CompactionOptions& options)
      : repository_(repository), r_(repository.internals()), options_(options), deltification_(r_) {
    r_.contents.set_cache_size(std::max(kCacheSize, r_.options.content_cache_size));
  }
  ~CompactionRun() { r_.contents.set_cache_size(r_.options.content_cache_size); }
  CompactionRun(const CompactionRun&) = delete;
  CompactionRun& operator=(const CompactionRun&) = delete;

  Result<CompactedSlice> work();

 private:
  bool is_over() const { return options_.is_over && options_.is_over(); }
  Result<void> begin();
  void drop_former_tables();
  Result<void> plan();
  bool process(Rid rid);
  void step_below(Rid rid, bool has_row);
  Result<void> apply();
  Result<std::size_t> apply_from(std::size_t first);
  void count(const Rewriting& rewriting);
  Result<void> note();
  void commit(Transaction& transaction);
  void rest(steady_clock::time_point since) const;
  std::int64_t now() const { return r_.options.clock->now().value / 1000; }

  Repository& repository_;
  RepositoryState& r_;
  const CompactionOptions& options_;
  Deltification deltification_;
  CompactionProgress progress_;
  CompactionProgress noted_;
  std::vector<Rewriting> planned_;
  std::size_t planned_bytes_ = 0;
  int missing_ = 0;  // consecutive unused row ids
  CompactedSlice slice_;
};

Result<void> CompactionRun::begin() {
  QUARRY_TRY_ASSIGN(const auto snapshot, repository_.snapshot());
  QUARRY_TRY(repository_.check_schema());
  progress_ = noted_ = CompactionProgress::read(r_.database);
  const Rid last = r_.database.first_integer("SELECT max(rid) FROM blob");
  progress_.begin(last, phantoms_up_to(r_.database, progress_.done), options_.is_whole);
  return {};
}

/// Drops tables of earlier versions of this program.
void CompactionRun::drop_former_tables() {
  for (const char* table : {"fx_quarry_overruled", "fx_quarry_tied"}) {
    if (!r_.database.has_table(table)) continue;
    r_.wait_for_checkpoint();
    Transaction transaction(r_.database);
    r_.database.execute(fmt::format("DROP TABLE IF EXISTS {}", table));
    commit(transaction);
  }
}

/// Plans the changes for RID. If the artifact is damaged, reports it and leaves it unchanged.
/// Returns whether the row exists.
bool CompactionRun::process(Rid rid) {
  if (!r_.database.has_row("SELECT 1 FROM blob WHERE rid=?1", rid)) return false;
  ++slice_.examined;
  auto planned = deltification_.plan(rid);
  if (!planned) {
    ++slice_.damaged;
    if (slice_.damage.size() < kMaxDamage) slice_.damage.push_back(planned.error().message);
    return true;
  }
  for (Rewriting& rewriting : *planned) {
    planned_bytes_ += rewriting.stored.size() + rewriting.content->size();
    if (rewriting.whole_source) planned_bytes_ += rewriting.whole_source->size();
    planned_.push_back(std::move(rewriting));
  }
  return true;
}

/// Continues the pass below RID. Tries one row id after another, because with some statistics
/// SQLite scans the whole table for a range query.
void CompactionRun::step_below(Rid rid, bool has_row) {
  progress_.next = rid - 1;
  missing_ = has_row ? 0 : missing_ + 1;
  if (missing_ < kWideGap) return;
  missing_ = 0;
  progress_.next = r_.database.first_integer("SELECT max(rid) FROM blob WHERE rid<?1", rid);
}

/// Continues the pass until the plan is large enough to be written.
Result<void> CompactionRun::plan() {
  const auto end = steady_clock::now() + kPlanningTime;
  QUARRY_TRY_ASSIGN(const auto snapshot, repository_.snapshot());
  while (progress_.next > progress_.bottom) {
    const Rid rid = progress_.next;
    const bool has_row = process(rid);
    if (has_row && progress_.bottom > 0) {
      for (const Rid earlier : deltification_.versions().before(rid)) {
        if (earlier <= progress_.bottom) process(earlier);
      }
    }
    step_below(rid, has_row);
    if (planned_.size() >= kMaxPlanned || planned_bytes_ >= kMaxBytes ||
        steady_clock::now() >= end || is_over()) {
      break;
    }
  }
  if (progress_.next <= progress_.bottom) {
    progress_.end(phantoms_up_to(r_.database, progress_.top));
  }
  return {};
}

void CompactionRun::count(const Rewriting& rewriting) {
  ++slice_.rewritten;
  slice_.size_before += rewriting.former_size;
  slice_.size_after += static_cast<std::int64_t>(rewriting.stored.size());
  if (!rewriting.whole_source) return;
  slice_.size_before += rewriting.former_source_size;
  slice_.size_after += static_cast<std::int64_t>(rewriting.whole_source->size());
}

/// Applies the plan, beginning with FIRST, until the lock has been held for kLockTime. Returns the
/// position at which to continue.
Result<std::size_t> CompactionRun::apply_from(std::size_t first) {
  r_.wait_for_checkpoint();
  Transaction transaction(r_.database);
  const auto begin = steady_clock::now();
  r_.refresh();
  std::vector<const Rewriting*> done;
  while (first < planned_.size() && steady_clock::now() - begin < kLockTime) {
    const Rewriting& rewriting = planned_[first++];
    QUARRY_TRY_ASSIGN(const bool is_applied, deltification_.apply(rewriting));
    if (!is_applied) continue;
    done.push_back(&rewriting);
    if (rewriting.former != 0 || rewriting.whole_source) progress_.turned = now();
  }
  const bool has_turned = progress_.turned != noted_.turned;
  if (first == planned_.size() || has_turned) {
    // Save the new position only when all planned changes have been written. Otherwise, an
    // interrupted run would not repeat the changes that are missing.
    CompactionProgress reached = first == planned_.size() ? progress_ : noted_;
    reached.turned = noted_.turned = progress_.turned;
    reached.write(r_.database, now());
  }
  commit(transaction);
  const auto took = steady_clock::now() - begin;
  slice_.longest_lock =
      std::max(slice_.longest_lock, std::chrono::duration_cast<std::chrono::microseconds>(took));
  for (const Rewriting* rewriting : done) count(*rewriting);
  return first;
}

Result<void> CompactionRun::apply() {
  for (std::size_t next = 0; next < planned_.size();) {
    const auto begin = steady_clock::now();
    QUARRY_TRY_ASSIGN(next, apply_from(next));
    repository_.keep_log_short();
    rest(begin);
  }
  if (!planned_.empty()) noted_ = progress_;
  planned_.clear();
  planned_bytes_ = 0;
  deltification_.forget_plan();
  return {};
}

/// Saves the position of the pass if it has not been saved yet.
Result<void> CompactionRun::note() {
  if (progress_ == noted_) return {};
  r_.wait_for_checkpoint();
  Transaction transaction(r_.database);
  r_.refresh();
  progress_.write(r_.database, now());
  commit(transaction);
  noted_ = progress_;
  return {};
}

void CompactionRun::commit(Transaction& transaction) {
  transaction.commit();
  ++r_.epoch;
  r_.wants_checkpoint = true;
  r_.settings.clear();
}

void CompactionRun::rest(steady_clock::time_point since) const {
  const auto took = steady_clock::now() - since;
  const auto pause = std::chrono::duration_cast<std::chrono::milliseconds>(took * options_.rest);
  if (pause.count() > 0) std::this_thread::sleep_for(std::min(pause, kLongestRest));
}

Result<CompactedSlice> CompactionRun::work() {
  QUARRY_TRY(begin());
  drop_former_tables();
  while (progress_.is_under_way() && !is_over()) {
    const auto begin = steady_clock::now();
    const Rid top = progress_.top;
    const Rid bottom = progress_.bottom;
    QUARRY_TRY(plan());
    rest(begin);
    QUARRY_TRY(apply());
    const Rid next = progress_.is_under_way() ? progress_.next : bottom;
    if (options_.progress) {
      options_.progress(static_cast<std::size_t>(top - next),
                        static_cast<std::size_t>(top - bottom));
    }
  }
  QUARRY_TRY(note());
  slice_.is_done = !progress_.is_under_way();
  return std::move(slice_);
}

}  // namespace

Result<CompactedSlice> Compaction::run(const CompactionOptions& options) {
  Repository::State& r = repository_.internals();
  auto slice = guarded(r.path, [&] { return CompactionRun(repository_, options).work(); });
  // After an error, clear the caches, which might contain data from a transaction that was rolled
  // back.
  if (!slice) r.forget();
  return slice;
}

bool Compaction::has_reversed_deltas() {
  const auto row = repository_.settings().get(CompactionProgress::kRow);
  if (!row) return false;
  const std::int64_t now = repository_.options().clock->now().value / 1000;
  // A time in the future is accepted: the clock might have been set back.
  return CompactionProgress::parse(*row).turned > now - kLongestClone.count();
}

Result<void> Compaction::vacuum() {
  return guarded(repository_.internals(), [&](RepositoryState& r) {
    r.wait_for_checkpoint();
    r.database.execute("VACUUM");
    r.forget();
    r.wants_checkpoint = true;
    repository_.checkpoint();
  });
}

Result<std::int64_t> Compaction::free_space() {
  return guarded(repository_.internals(), [&](RepositoryState& r) {
    return r.database.first_integer("PRAGMA freelist_count") *
           r.database.first_integer("PRAGMA page_size");
  });
}

}  // namespace quarry::repository
