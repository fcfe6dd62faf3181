// The scoreboard: shared memory in which each child of a pool publishes its state for the master
// and the status pages.
//
// Each pool has a board in an anonymous file (memfd). The file is sealed against resizing, because
// readers of a file that shrinks would crash. Layout:
//
//   PoolMemory       a sequence number, then a PoolState; written by the master
//   LeaseMemory      see leases.h; written by the children
//   RefusalMemory    the latest refusals; written by the children
//   BusiestMemory    see busiest.h; written by the children
//   SlotMemory[]     one per child: a sequence number, then a SlotState
//   LoginMemory      see login_limiter.h; written by the children
//
// A State is an array of 64-bit atomic words. Each State is protected by a sequence lock and has
// exactly one writer: the child, or the master. The sequence number is odd during an update. A
// reader copies the words and compares the sequence number before and after the copy. So readers
// never block the writer. If the writer was killed during an update, the reader stops after some
// attempts and returns the copy, marked as torn.
//
// Every child can write to the whole board, so readers do not trust its contents, including the
// PoolState. The master keeps its own data (used slots, pids, the slot count, the PoolState) in
// private memory and copies it to the board. After a reload, the new master receives these data and
// the board's layout from the previous master.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "quarry/base/fd.h"
#include "quarry/base/result.h"
#include "quarry/scoreboard/busiest.h"
#include "quarry/scoreboard/leases.h"
#include "quarry/scoreboard/shared_memory.h"
#include "quarry/scoreboard/state.h"

namespace quarry::scoreboard {

struct LoginMemory;

/// A State that one process writes and other processes read.
template <typename State>
struct alignas(64) SharedState {
  static constexpr std::size_t kWords = sizeof(State) / sizeof(std::uint64_t);
  std::atomic<std::uint64_t> sequence;
  std::array<std::atomic<std::uint64_t>, kWords> words;
};
using SlotMemory = SharedState<SlotState>;
using PoolMemory = SharedState<PoolState>;
/// The latest refusals of a pool, in a ring buffer to which all its children write. If kMaxRefusals
/// refusals occur while a child writes an entry, another child can garble that entry.
inline constexpr std::size_t kMaxRefusals = 32;
struct alignas(64) RefusalMemory {
  std::atomic<std::uint64_t> count;  // refusals so far
  std::array<SharedState<Refusal>, kMaxRefusals> ring;
};
static_assert(std::atomic<std::uint64_t>::is_always_lock_free);

/// The properties of a request that are known after its parameters were read.
struct RequestInfo {
  std::string_view method;
  std::string_view uri;  // with or without a query
  std::uint64_t content_length = 0;
  std::string_view id{};
};

/// The result of a request.
struct Outcome {
  std::string_view user{};
  std::string_view operation{};  // of a sync session: clone, pull, push or sync
  std::uint64_t reply_size = 0;
  std::uint64_t bytes_in = 0;  // for a sync session: size of the request body
  std::uint64_t bytes_out = 0;
  std::uint64_t artifacts_in = 0;
  std::uint64_t artifacts_out = 0;
  bool is_refusal = false;
  bool is_failed_login = false;
};

/// The writing end of a slot, for the child that owns the slot. The functions do not make system
/// calls, except getrusage(2) at the start and at the end of a request. The Board must outlive the
/// Slot.
class Slot {
 public:
  /// Writes to MEMORY. REFUSALS is the pool's ring buffer, and BUSIEST counts the requests of its
  /// repositories. REFUSALS and BUSIEST can be null.
  explicit Slot(SlotMemory* memory, std::uint64_t generation = 1, RefusalMemory* refusals = nullptr,
                BusiestMemory* busiest = nullptr)
      : memory_(memory), refusals_(refusals), busiest_(busiest), generation_(generation) {}

  /// Sets the pid and start time and clears all other values. A new child calls this first.
  void child_started();

  void accepting();
  void accepted();
  void reading_headers();
  void info(const RequestInfo& request);
  /// Publishes that the request is executing. REPOSITORY is the name of the repository in URLs, or
  /// "" if the pool serves a single repository.
  void executing(std::string_view repository);
  /// Publishes SIZE, the number of received bytes of the body.
  void received(std::uint64_t size);
  /// Publishes the progress of the session in the stage kExecuting. Unknown values are "".
  void doing(std::string_view user, std::string_view operation, std::string_view what);
  /// Publishes that a sync session from the address CLIENT has begun. The session ends with the
  /// request.
  void session_begins(std::string_view client);
  /// Publishes a long-running statement. Called repeatedly while the statement runs.
  void running_sql(std::string_view sql);
  /// Records REFUSAL with the current time.
  void refused(Refusal refusal);
  void end(const Outcome& outcome);
  /// Counts the request with its outcome and duration.
  void finished();

  const SlotState& state() const { return state_; }

 private:
  void enter(Stage stage);
  void publish();

  SlotMemory* memory_;
  RefusalMemory* refusals_;
  BusiestMemory* busiest_;
  std::uint64_t generation_;
  SlotState state_;
  Counters counted_at_end_;  // added to the counters at the end of the request
  std::uint64_t cpu_before_ = 0;
};

inline constexpr std::size_t kMaxSlots = 65536;

/// The layout of a board's memory.
struct BoardLayout {
  std::uint64_t version = 0;
  std::uint64_t slot_size = 0;
  std::uint64_t pool_size = 0;
  std::uint64_t slots = 0;

  bool operator==(const BoardLayout&) const = default;
};

class Board {
 public:
  /// Creates an object without a board.
  Board() = default;
  /// Creates a board with SLOTS slots, at most kMaxSlots. A board without slots contains only the
  /// pool's figures. Errors: kLimit, kIo.
  static Result<Board> create(std::string_view pool, std::size_t slots);
  /// Maps the board of POOL in FD. The board was created before a reload, with LAYOUT, possibly by
  /// another version of the program. The contents stay unchanged and are not trusted. Errors:
  /// kInvalid (this program uses another layout or size, or the memory is not sealed), kIo.
  static Result<Board> adopt(base::Fd fd, const BoardLayout& layout, std::string_view pool);
  /// Returns a second, read-only mapping of this board, with a copy of this object's private state.
  /// Errors: kIo.
  Result<Board> read_only() const;

  std::size_t slot_count() const { return slot_count_; }
  BoardLayout layout() const;
  const std::string& pool() const { return pool_; }
  /// Returns the descriptor of the shared memory, or -1 for a board made by read_only().
  int fd() const { return fd_.get(); }

  struct Reading {
    SlotState state;
    bool is_torn = false;  // the writer stopped during an update, or kept updating
    /// Whether the slot contained values that a child never writes. `state` is then empty.
    bool is_garbage = false;
  };
  Reading read(std::size_t index) const;
  /// Returns the latest refusals, newest first.
  std::vector<Refusal> refusals() const;
  /// Returns the busiest repositories, the busiest first, at most kMaxBusiest.
  std::vector<RepositoryCount> busiest() const;
  /// Returns the memory for the login limiter of the pool's children. The board must outlive the
  /// limiter.
  LoginMemory& logins() const;

  struct PoolReading {
    PoolState state;
    std::uint64_t sequence = 0;  // increases with each update
    /// Whether the values in memory were implausible. `state` is then the last valid state.
    bool is_old = false;
  };
  PoolReading read_pool() const;

  /// Writes the pool's state. Called only by the master.
  void publish(const PoolState& state);
  /// Publishes the pool's state and clears slot INDEX, whose child has exited. If a reader gets the
  /// same PoolReading::sequence before and after reading the slots, it has read both changes or
  /// neither.
  void retire(std::size_t index, const PoolState& state);

  /// Returns the leases of the pool's children. The board must outlive the returned object.
  Leases leases() const;
  /// Returns the writing end of slot INDEX, for the child that owns it.
  Slot slot(std::size_t index);
  /// Clears slot INDEX, whose child has exited. Called only by the master.
  void clear(std::size_t index);
  /// Unmaps the board. A child unmaps all boards except its own.
  void unmap();

 private:
  Board(base::Fd fd, Mapping memory, std::size_t slots, std::string_view pool)
      : fd_(std::move(fd)), memory_(std::move(memory)), slot_count_(slots), pool_(pool) {}
  template <typename T>
  T& at(std::size_t offset) const;
  SlotMemory& slot_memory(std::size_t index) const;

  base::Fd fd_;
  Mapping memory_;
  std::size_t slot_count_ = 0;
  std::string pool_;
  /// The last valid state that this process, or the master before the fork, has written or read.
  mutable PoolState last_;
};

/// The used slots of a board. This data is in the master's private memory, to which children cannot
/// write.
class SlotAllocator {
 public:
  explicit SlotAllocator(std::size_t slots) : used_(slots, false) {}

  /// Allocates a free slot. Returns nullopt if all slots are used.
  std::optional<std::size_t> allocate();
  /// Allocates INDEX, which must be free.
  void take(std::size_t index) { used_[index] = true; }
  /// Frees INDEX. The next allocate() starts its search at INDEX.
  void free(std::size_t index);
  std::size_t free_count() const;
  bool is_free(std::size_t index) const { return index < used_.size() && !used_[index]; }

 private:
  std::vector<bool> used_;
  std::size_t free_proc_ = 0;  // start of the search for a free slot
};

}  // namespace quarry::scoreboard
