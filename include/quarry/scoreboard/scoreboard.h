// The scoreboard: shared memory in which each child of a pool writes what it is doing, for the
// master and for status readers.
//
// One board a pool, in an anonymous file (memfd) that is sealed against growing and shrinking, so
// that nobody who holds it can make another holder's access fault:
//
//   BoardHeader      magic, layout version, slot count and size, name of the pool
//   PoolMemory       a sequence number, then a PoolState; written by the master
//   LeaseMemory       see leases.h; written by the children
//   RefusalMemory    the last refusals, a Refusal each; written by the children
//   SlotMemory[]     one a child: a sequence number, then a SlotState
//   LoginMemory      see login_limiter.h; written by the children
//
// States are arrays of 64-bit atomic words, each under a sequence lock with exactly one writer: the
// child, or the master. The number is odd while the writer writes. A reader copies the words and
// looks at the number before and after: it never blocks the writer, and where the writer was killed
// inside an update the reader gives up after some tries and returns what it has, marked as torn.
//
// What the board says is the children's word, the PoolState too: each of them can write to all of
// it. What the master must be able to rely on (which slots are used, pids, the slot count, the
// PoolState) it keeps in its private memory, and writes anew from there. A master that takes the
// board over from the one before it is told the same by that one, and reads nothing in the header.
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
#include "quarry/scoreboard/leases.h"
#include "quarry/scoreboard/state.h"

namespace quarry::scoreboard {

struct LoginMemory;

/// A State that one process writes and many read.
template <typename State>
struct alignas(64) SharedState {
  static constexpr std::size_t kWords = sizeof(State) / sizeof(std::uint64_t);
  std::atomic<std::uint64_t> sequence;
  std::array<std::atomic<std::uint64_t>, kWords> words;
};
struct SlotMemory {
  SharedState<SlotState> state;
};
using PoolMemory = SharedState<PoolState>;
/// The last refusals of a pool, in a ring that all its children write to. Two that write to the same
/// place at once, which takes kMostRefusals meanwhile, spoil that one.
inline constexpr std::size_t kMostRefusals = 32;
struct alignas(64) RefusalMemory {
  std::atomic<std::uint64_t> count;  // of all that there were
  std::array<SharedState<Refusal>, kMostRefusals> ring;
};
static_assert(std::atomic<std::uint64_t>::is_always_lock_free);

/// What is known of a request once its parameters are read.
struct RequestInfo {
  std::string_view method;
  std::string_view uri;  // with or without a query
  std::uint64_t content_length = 0;
};

/// What became of a request.
struct Outcome {
  std::string_view user{};
  std::string_view operation{};  // of a sync session: clone, pull, push or sync
  std::uint64_t reply_size = 0;
  std::uint64_t bytes_in = 0;  // body that was read, and reply, of a sync session
  std::uint64_t bytes_out = 0;
  std::uint64_t artifacts_in = 0;
  std::uint64_t artifacts_out = 0;
  bool is_refusal = false;
};

/// The writing end of one slot, held by the one child that it was given to. Costs no system call
/// but getrusage(2) at the begin and the end of a request. The Board must outlive it.
class Slot {
 public:
  /// REFUSALS: those of the pool; null: nobody wants to know.
  explicit Slot(SlotMemory* memory, std::uint64_t generation = 1, RefusalMemory* refusals = nullptr)
      : memory_(memory), refusals_(refusals), generation_(generation) {}

  /// First thing in a new child: its pid and start time, all else empty.
  void child_started();

  void accepting();
  void accepted();
  void reading_headers();
  void info(const RequestInfo& request);
  /// REPOSITORY is the name under which it is served, "" if there is just one.
  void executing(std::string_view repository);
  /// SIZE bytes of the body were read so far.
  void received(std::uint64_t size);
  /// What the session is doing in the stage executing, as far as it knows by now.
  void doing(std::string_view user, std::string_view operation, std::string_view what);
  /// A sync session of CLIENT, an address, begins; it ends with the request.
  void session_begins(std::string_view client);
  /// A statement that is running for long. To be repeated while it does.
  void running_sql(std::string_view sql);
  /// Tells of REFUSAL, which came at this moment.
  void refused(Refusal refusal);
  void end(const Outcome& outcome);
  /// Counts the request with its outcome, and its time.
  void finished();

  const SlotState& state() const { return state_; }

 private:
  void enter(Stage stage);
  void publish();

  SlotMemory* memory_;
  RefusalMemory* refusals_;
  std::uint64_t generation_;
  SlotState state_;
  Counters counted_at_end_;  // what the outcome adds when the request is finished
  std::uint64_t cpu_before_ = 0;
};

inline constexpr std::size_t kMostSlots = 65536;

/// What has to be known of a board's memory by who does not believe its header.
struct BoardLayout {
  std::uint64_t version = 0;
  std::uint64_t slot_size = 0;
  std::uint64_t pool_size = 0;
  std::uint64_t slots = 0;

  bool operator==(const BoardLayout&) const = default;
};

/// A mapped board.
class Board {
 public:
  /// No board.
  Board() = default;
  /// A new board with SLOTS (at most kMostSlots) slots; without any it has the pool's figures alone.
  /// Errors: kLimit, kIo.
  static base::Result<Board> create(std::string_view pool, std::size_t slots);
  /// The board behind FD, inherited from the master, with everything in its header checked. FD
  /// stays the caller's. Errors: kInvalid (not a board, or of another layout version), kIo.
  static base::Result<Board> map(int fd);
  /// The board of POOL behind FD, which another program made with create() and said to be of
  /// LAYOUT. Its contents are what children left there: publish() mends all but the slots. Errors:
  /// kInvalid (of another layout or size than this program's, or not sealed), kIo.
  static base::Result<Board> adopt(base::Fd fd, const BoardLayout& layout, std::string_view pool);
  /// This board once more, mapped so that writing to it is a fault. It believes nothing of what is
  /// written there, but knows what this one knows. For a board with a descriptor of its own.
  /// Errors: kIo.
  base::Result<Board> read_only() const;

  Board(Board&& other) noexcept;
  Board& operator=(Board&& other) noexcept;
  ~Board() { unmap(); }

  std::size_t slot_count() const { return slot_count_; }
  BoardLayout layout() const;
  std::string pool() const { return std::string(pool_.view()); }
  /// Of the shared memory; -1 for a board made by map().
  int fd() const { return fd_.get(); }

  struct Reading {
    SlotState state;
    bool is_torn = false;  // the writer stopped inside an update, or never stopped updating
    /// What was there, no child wrote: STATE is empty.
    bool is_garbage = false;
  };
  Reading read(std::size_t index) const;
  /// The last ones, the newest first.
  std::vector<Refusal> refusals() const;
  /// What the children of the pool remember of logins. The board must outlive it.
  LoginMemory& logins() const;

  struct PoolReading {
    PoolState state;
    std::uint64_t sequence = 0;  // grows with each update
    /// There was nothing sound to be read: STATE is the last that was.
    bool is_old = false;
  };
  PoolReading read_pool() const;

  /// Writes what the master says of the pool, and mends the header. Master only.
  void publish(const PoolState& state);
  /// The same, and empties slot INDEX, whose child is dead, so that a reader that sees the same
  /// PoolReading::sequence before and after looking at the slots has seen both or neither.
  void retire(std::size_t index, const PoolState& state);

  /// What the children of the pool hold. The board must outlive it.
  Leases leases() const;
  /// The writing end of slot INDEX; for the child that the slot was given to.
  Slot slot(std::size_t index);
  /// Empties slot INDEX, whose child is dead. Master only.
  void clear(std::size_t index);
  /// Takes the board out of this process's memory: a child does so with every board but its own.
  void unmap();

 private:
  SlotMemory* memory(std::size_t index) const;
  PoolMemory* pool_memory() const;
  RefusalMemory* refusal_memory() const;
  base::Result<void> map_memory(int fd, int protection);
  void write_header();

  base::Fd fd_;
  std::byte* base_ = nullptr;
  std::size_t size_ = 0;
  std::size_t slot_count_ = 0;
  FixedText<64> pool_;
  /// The last sound one that this process wrote or read; after a fork, that of the master.
  mutable PoolState last_;
};

/// Which slots of a board are used. Lives in the master's private memory, where no child can write.
class SlotAllocator {
 public:
  explicit SlotAllocator(std::size_t slots) : used_(slots, false) {}

  /// A free slot, now used; nothing if all are.
  std::optional<std::size_t> allocate();
  /// INDEX, which is free, is used from now on.
  void take(std::size_t index) { used_[index] = true; }
  /// Gives INDEX back; it is the next to be looked at.
  void free(std::size_t index);
  std::size_t used_count() const;
  std::size_t free_count() const { return used_.size() - used_count(); }
  bool is_free(std::size_t index) const { return index < used_.size() && !used_[index]; }

 private:
  std::vector<bool> used_;
  std::size_t free_proc_ = 0;  // a slot that may be free: where the search begins
};

}  // namespace quarry::scoreboard
