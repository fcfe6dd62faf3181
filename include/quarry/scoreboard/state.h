// The contents of a scoreboard: the state of each child in its slot, and the state of the pool,
// which the master writes. scoreboard.h defines the shared memory that contains these states.
//
// Every child can write anywhere on its pool's board, so the values can be corrupt. Readers
// validate the values with is_sound().
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <type_traits>

#include "quarry/scoreboard/counters.h"

namespace quarry::scoreboard {

/// PHP-FPM's stages of a request. A child in kAccepting is idle.
enum class Stage : std::uint32_t {
  kNone,            // started, not yet ready
  kAccepting,       // waiting for a connection
  kAccepted,        // has a connection, but has not read from it
  kReadingHeaders,  // reading the request's parameters
  kInfo,            // has read the parameters
  kExecuting,       // reading the body and making the reply
  kEnd,             // sending the reply
  kFinished,        // the reply was sent
};
constexpr std::size_t kStages = 8;
std::string_view name_of(Stage stage);

/// Returns the time of the monotonic clock in microseconds. All processes of the machine share this
/// clock.
std::int64_t monotonic_micros();
/// Returns the time in microseconds since 1970.
std::int64_t wall_micros();

/// A text of at most N - 1 bytes, stored inside the object. Longer texts are truncated. view()
/// never reads beyond the object, even if another process has overwritten the terminating NUL.
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

/// The state of a child. Times are monotonic_micros() unless noted otherwise.
struct SlotState {
  Stage stage = Stage::kNone;
  std::uint32_t pid = 0;           // 0: the slot has no child
  std::uint64_t generation = 0;    // generation that the child belongs to
  std::int64_t child_started = 0;  // microseconds since 1970
  std::int64_t stage_since = 0;
  std::int64_t request_started = 0;   // of the current or last request
  std::int64_t request_duration = 0;  // of the last finished request, microseconds
  std::uint64_t request_cpu = 0;      // user and system time of the last request, microseconds
  std::uint64_t peak_memory = 0;      // peak of the child after its last request, bytes
  std::uint64_t requests = 0;         // finished requests of this child
  // From here to sql_seen: of the current or last request.
  std::uint64_t content_length = 0;
  std::uint64_t received = 0;    // received bytes of the body
  std::uint64_t reply_size = 0;  // bytes of the reply's body; 0 until known
  FixedText<16> method;
  FixedText<16> operation;
  FixedText<64> user;
  FixedText<128> repository;
  FixedText<72> request_id;
  FixedText<256> uri;         // without the query
  FixedText<128> query;       // without the question mark
  FixedText<192> doing;       // progress of the session in the stage kExecuting
  FixedText<192> sql;         // the last long-running statement of the request
  std::int64_t sql_seen = 0;  // last time at which the statement was running
  FixedText<48> client;       // address of the current sync session; "" outside a sync session
  std::int64_t session_began = 0;
  Counters counters;

  /// Returns whether a child can have written this combination of values.
  bool is_sound() const;
};
static_assert(std::is_trivially_copyable_v<SlotState>);
static_assert(sizeof(SlotState) % sizeof(std::uint64_t) == 0);

enum class Refuser : std::uint32_t {
  kWorker,
  kFront,  // the HTTP front
  kPages,  // the page server
};
std::string_view name_of(Refuser refuser);

/// A request that was refused, with only the data that is safe on the status page. The query,
/// entered user names, and details for the log are not included.
struct Refusal {
  std::int64_t at = 0;       // microseconds since 1970; 0: unused
  std::uint32_t status = 0;  // HTTP status; 200 for a refused sync
  Refuser by = Refuser::kWorker;
  std::uint64_t times = 1;  // number of refusals for this reason (refusal_tally.h)
  FixedText<16> method{};
  FixedText<96> uri{};  // without the query
  FixedText<128> text{};

  /// Sets the method, and the URI without its query.
  void of_request(std::string_view asked_method, std::string_view target);
  /// Returns whether a child can have written these values.
  bool is_sound() const;
};
static_assert(std::is_trivially_copyable_v<Refusal>);
static_assert(sizeof(Refusal) % sizeof(std::uint64_t) == 0);

/// The configured limits of a pool's processes. Limits that do not apply to the process manager are
/// 0.
struct PoolLimits {
  FixedText<16> process_manager;  // static, dynamic or ondemand
  std::uint64_t max_children = 0;
  std::uint64_t start_servers = 0;
  std::uint64_t min_spare_servers = 0;
  std::uint64_t max_spare_servers = 0;
};

/// The state of a pool, written by the master.
struct PoolState {
  std::int64_t started = 0;  // microseconds since 1970
  std::uint64_t generation = 1;
  PoolLimits limits;
  std::uint64_t children = 0;
  std::uint64_t previous_children = 0;     // running children of earlier generations
  std::uint64_t max_active = 0;            // highest number of active children
  std::uint64_t max_children_reached = 0;  // number of times max_children was reached
  std::uint64_t process_max_reached = 0;   // number of times process.max was reached
  std::uint64_t held_back = 0;             // children not started yet because of process.max
  std::uint64_t slow_requests = 0;
  std::uint64_t max_listen_queue = 0;
  std::uint64_t backoffice_runs = 0;
  std::uint64_t backoffice_delayed = 0;   // runs that waited for a free slot
  std::uint64_t backoffice_failures = 0;  // runs that failed
  std::int64_t backoffice_ended = 0;      // end of the last run, microseconds since 1970; 0: none
  std::int64_t backoffice_took = 0;       // duration of the last run, microseconds
  FixedText<64> backoffice_outcome;       // of the last run
  std::uint64_t restarts_backed_off = 0;  // number of delayed restarts
  std::int64_t next_start = 0;            // microseconds since 1970; 0: a restart is not pending
  FixedText<128> backoff_reason;
  Counters past;  // sums over the children that have exited

  /// Returns whether the master can have written these values.
  bool is_sound() const;
};
static_assert(std::is_trivially_copyable_v<PoolState>);
static_assert(sizeof(PoolState) % sizeof(std::uint64_t) == 0);

}  // namespace quarry::scoreboard
