// What stands in a scoreboard: the state of each child, in its slot, and that of the pool, which
// the master writes. Plain values; scoreboard.h has the memory that they are shared through.
//
// Every child of a pool can write everywhere in its pool's board, so that nothing in it is to be
// believed unseen: is_sound() tells what a child or the master can have written from what cannot
// be.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <type_traits>

#include "quarry/scoreboard/counters.h"

namespace quarry::scoreboard {

/// PHP-FPM's request stages. A child in kAccepting is idle.
enum class Stage : std::uint32_t {
  kNone,            // started, but not yet there
  kAccepting,       // about to wait, or waiting, for a connection
  kAccepted,        // has a connection, has not read from it
  kReadingHeaders,  // reads the request's parameters
  kInfo,            // knows what the request is
  kExecuting,       // reads the body and works on the answer
  kEnd,             // the answer is made, and being sent
  kFinished,        // the answer is sent
};
constexpr std::size_t kStages = 8;
std::string_view name_of(Stage stage);

/// Microseconds of the monotonic clock, the same in all processes of the machine.
std::int64_t monotonic_micros();
/// Microseconds since 1970.
std::int64_t wall_micros();

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
  std::uint32_t pid = 0;           // 0: no child
  std::uint64_t generation = 0;    // of the configuration that it was started with
  std::int64_t child_started = 0;  // microseconds since 1970
  std::int64_t stage_since = 0;
  std::int64_t request_started = 0;   // of the present request, or the last
  std::int64_t request_duration = 0;  // of the last finished request, microseconds
  std::uint64_t request_cpu = 0;      // of the last: user and system time, microseconds
  std::uint64_t peak_memory = 0;      // of the child, after its last request: bytes
  std::uint64_t requests = 0;         // finished by this child
  std::uint64_t content_length = 0;   // of the present request, or the last; and so on:
  std::uint64_t received = 0;         // bytes of its body that were read so far
  std::uint64_t reply_size = 0;       // bytes of body; 0 until it is known
  FixedText<16> method;
  FixedText<16> operation;
  FixedText<64> user;
  FixedText<128> repository;
  FixedText<256> uri;         // without the query
  FixedText<128> query;       // without the question mark
  FixedText<192> doing;       // in the session's own words, while it executes
  FixedText<192> sql;         // the last statement of the request that ran for long
  std::int64_t sql_seen = 0;  // when it was seen running last
  FixedText<48> client;       // whose sync session is under way; "" while none is
  std::int64_t session_began = 0;
  Counters counters;

  /// Whether a child can have written this, all at once.
  bool is_sound() const;
};
static_assert(std::is_trivially_copyable_v<SlotState>);
static_assert(sizeof(SlotState) % sizeof(std::uint64_t) == 0);

/// Who answered a request.
enum class Refuser : std::uint32_t {
  kWorker,
  kFront,  // the HTTP front, by itself
  kPages,  // the process that has web pages made, by itself
};
std::string_view name_of(Refuser refuser);

/// A request that was not answered as its client wished, as everybody may be told of it who may see
/// the status page: neither a query nor a name that was written, nor what is in the log alone.
struct Refusal {
  std::int64_t at = 0;       // microseconds since 1970; 0: none
  std::uint32_t status = 0;  // of HTTP; a sync that is refused has 200
  Refuser by = Refuser::kWorker;
  std::uint64_t times = 1;  // that it was so, where a reason is told once (refusal_tally.h)
  FixedText<16> method{};
  FixedText<96> uri{};  // without the query
  FixedText<128> text{};

  /// Of the request METHOD TARGET, as far as that may be told.
  void of_request(std::string_view asked_method, std::string_view target);
  /// Whether a child can have written this.
  bool is_sound() const;
};
static_assert(std::is_trivially_copyable_v<Refusal>);
static_assert(sizeof(Refusal) % sizeof(std::uint64_t) == 0);

/// What the configuration says of a pool's processes. Numbers that its process manager has no use
/// for are 0.
struct PoolLimits {
  FixedText<16> process_manager;  // static, dynamic or ondemand
  std::uint64_t max_children = 0;
  std::uint64_t start_servers = 0;
  std::uint64_t min_spare_servers = 0;
  std::uint64_t max_spare_servers = 0;
};

/// What the master says of a pool.
struct PoolState {
  std::int64_t started = 0;  // microseconds since 1970
  std::uint64_t generation = 1;
  PoolLimits limits;
  std::uint64_t children = 0;
  std::uint64_t previous_children = 0;     // of earlier generations, which finish
  std::uint64_t max_active = 0;            // at a time
  std::uint64_t max_children_reached = 0;  // times
  std::uint64_t process_max_reached = 0;  // times that process.max kept children from being started
  std::uint64_t held_back = 0;            // children that it keeps from being started now
  std::uint64_t slow_requests = 0;
  std::uint64_t max_listen_queue = 0;
  std::uint64_t backoffice_runs = 0;
  std::uint64_t backoffice_delayed = 0;   // that had to wait for others
  std::uint64_t backoffice_failures = 0;  // that did not end well
  std::int64_t backoffice_ended = 0;      // microseconds since 1970: the last run; 0: none has
  std::int64_t backoffice_took = 0;       // that one, in microseconds
  FixedText<64> backoffice_outcome;       // of that one
  std::uint64_t restarts_backed_off = 0;  // times that a crash loop was slowed down
  std::int64_t next_start = 0;  // microseconds since 1970: when it goes on; 0: not in a crash loop
  FixedText<128> backoff_reason;
  Counters past;  // of the children that are gone

  /// Whether the master can have written this.
  bool is_sound() const;
};
static_assert(std::is_trivially_copyable_v<PoolState>);
static_assert(sizeof(PoolState) % sizeof(std::uint64_t) == 0);

}  // namespace quarry::scoreboard
