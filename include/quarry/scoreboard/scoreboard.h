// The scoreboard: shared memory in which each child of a pool writes what it is doing, for the
// master and for status readers.
//
// One board a pool, in an anonymous file (memfd) that is sealed against growing and shrinking, so
// that nobody who holds it can make another holder's access fault:
//
//   BoardHeader      magic, layout version, slot count and size, name of the pool
//   SlotMemory[]     one a child: a sequence number, then a SlotState as 64-bit atomic words
//
// Each slot is a sequence lock with exactly one writer, the child. The number is odd while the
// child writes. A reader copies the words and looks at the number before and after: it never blocks
// the writer, and where the writer was killed inside an update the reader gives up after some tries
// and returns what it has, marked as torn.
//
// What the board says is the children's word. What the master must be able to rely on (which slots
// are used, pids, the slot count) it keeps in its private memory: SlotAllocator, and Board itself.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "quarry/base/fd.h"
#include "quarry/base/result.h"

namespace quarry::scoreboard {

/// PHP-FPM's request stages. A child in kAccepting is idle.
enum class Stage : std::uint32_t {
  kNone,            // no child has written to the slot yet
  kAccepting,       // about to wait, or waiting, for a connection
  kAccepted,        // has a connection, has not read from it
  kReadingHeaders,  // reads the request's parameters
  kInfo,            // knows what the request is
  kExecuting,       // reads the body and works on the answer
  kEnd,             // the answer is made, and being sent
  kFinished,        // the answer is sent
};
std::string_view name_of(Stage stage);

/// Microseconds of the monotonic clock, the same in all processes of the machine.
std::int64_t monotonic_micros();

/// Text of at most N - 1 bytes in fixed memory; longer text is cut. Whatever another process wrote
/// into it, view() stays inside.
template <std::size_t N>
class FixedText {
 public:
  void assign(std::string_view text) {
    bytes_ = {};
    text.copy(bytes_.data(), N - 1);
  }
  std::string_view view() const {
    const std::string_view all(bytes_.data(), N);
    return all.substr(0, all.find('\0'));
  }

 private:
  std::array<char, N> bytes_{};
};

/// What a child says of itself. Times are monotonic_micros() unless they say otherwise.
struct SlotState {
  Stage stage = Stage::kNone;
  std::uint32_t pid = 0;
  std::int64_t child_started = 0;  // microseconds since 1970
  std::int64_t stage_since = 0;
  std::int64_t request_started = 0;   // of the present request, or the last
  std::int64_t request_duration = 0;  // of the last finished request, microseconds
  std::uint64_t requests = 0;         // finished by this child
  std::uint64_t accumulated = 0;      // microseconds in all finished requests
  std::uint64_t content_length = 0;   // of the present request, or the last; and so on:
  FixedText<16> method;
  FixedText<16> operation;
  FixedText<64> user;
  FixedText<128> repository;
  FixedText<256> uri;
  FixedText<192> doing;       // in the session's own words, while it executes
  FixedText<192> sql;         // the last statement of the request that ran for long
  std::int64_t sql_seen = 0;  // when it was seen running last
};
static_assert(std::is_trivially_copyable_v<SlotState>);
static_assert(sizeof(SlotState) % sizeof(std::uint64_t) == 0);

constexpr std::size_t kSlotWords = sizeof(SlotState) / sizeof(std::uint64_t);

struct alignas(64) SlotMemory {
  std::atomic<std::uint64_t> sequence;
  std::array<std::atomic<std::uint64_t>, kSlotWords> words;
};
static_assert(std::atomic<std::uint64_t>::is_always_lock_free);

/// What is known of a request once its parameters are read.
struct RequestInfo {
  std::string_view method;
  std::string_view uri;
  std::uint64_t content_length = 0;
};

/// The writing end of one slot, held by the one child that it was given to. Costs no system call.
/// The Board must outlive it.
class Slot {
 public:
  explicit Slot(SlotMemory* memory) : memory_(memory) {}

  /// First thing in a new child: its pid and start time, all else empty.
  void child_started();

  void accepting();
  void accepted();
  void reading_headers();
  void info(const RequestInfo& request);
  /// REPOSITORY is the name under which it is served, "" if there is just one.
  void executing(std::string_view repository);
  /// What the session is doing in the stage executing, as far as it knows by now.
  void doing(std::string_view user, std::string_view operation, std::string_view what);
  /// A statement that is running for long. To be repeated while it does.
  void running_sql(std::string_view sql);
  /// What the session turned out to be.
  void end(std::string_view user, std::string_view operation);
  /// Counts the request and its time.
  void finished();

  const SlotState& state() const { return state_; }

 private:
  void enter(Stage stage);
  void publish();

  SlotMemory* memory_;
  SlotState state_;
};

/// A mapped board.
class Board {
 public:
  /// No board: of no slots.
  Board() = default;
  /// A new board with SLOTS (1 to 65536) slots. Errors: kLimit, kIo.
  static base::Result<Board> create(std::string_view pool, std::size_t slots);
  /// The board behind FD, inherited from the master, with everything in its header checked. FD
  /// stays the caller's. Errors: kInvalid (not a board, or of another layout version), kIo.
  static base::Result<Board> map(int fd);

  Board(Board&& other) noexcept;
  Board& operator=(Board&& other) noexcept;
  ~Board() { unmap(); }

  std::size_t slot_count() const { return slot_count_; }
  std::string pool() const;
  /// Of the shared memory; -1 for a board made by map().
  int fd() const { return fd_.get(); }

  struct Reading {
    SlotState state;
    bool is_torn = false;  // the writer stopped inside an update, or never stopped updating
  };
  Reading read(std::size_t index) const;

  /// The writing end of slot INDEX; for the child that the slot was given to.
  Slot slot(std::size_t index);
  /// Empties slot INDEX, whose child is dead. Master only.
  void clear(std::size_t index);
  /// Takes the board out of this process's memory: a child does so with every board but its own.
  void unmap();

 private:
  SlotMemory* memory(std::size_t index) const;

  base::Fd fd_;
  std::byte* base_ = nullptr;
  std::size_t size_ = 0;
  std::size_t slot_count_ = 0;
};

/// Which slots of a board are used. Lives in the master's private memory, where no child can write.
class SlotAllocator {
 public:
  explicit SlotAllocator(std::size_t slots) : used_(slots, false) {}

  /// A free slot, now used; nothing if all are.
  std::optional<std::size_t> allocate();
  /// Gives INDEX back; it is the next to be looked at.
  void free(std::size_t index);
  std::size_t used_count() const;

 private:
  std::vector<bool> used_;
  std::size_t free_proc_ = 0;  // a slot that may be free: where the search begins
};

}  // namespace quarry::scoreboard
