// The contents of a scoreboard: the state of each child, in its slot, and the state of the pool,
// which the master writes. These are plain values; scoreboard.h defines the shared memory that
// holds them.
//
// Every child can write anywhere on its pool's board, so readers must not trust it: is_sound()
// distinguishes values that a child or the master can have written from corrupt ones.
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
  kAccepted,        // has a connection but has not read from it
  kReadingHeaders,  // reading the request's parameters
  kInfo,            // has read the parameters
  kExecuting,       // reading the body and making the reply
  kEnd,             // sending the reply
  kFinished,        // the reply was sent
};
constexpr std::size_t kStages = 8;
std::string_view name_of(Stage stage);

/// Returns the time of the monotonic clock, which all processes of the machine share, in
/// microseconds.
std::int64_t monotonic_micros();
/// Returns the time in microseconds since 1970.
std::int64_t wall_micros();

/// Text of at most N - 1 bytes in fixed memory; longer text is truncated. view() never reads beyond
/// the memory, whatever another process has written to it.
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
  std::uint64_t generation = 0;    // generation of the master that started the child
  std::int64_t child_started = 0;  // microseconds since 1970
  std::int64_t stage_since = 0;
  std::int64_t request_started = 0;   // of the current request or the last one
  std::int64_t request_duration = 0;  // of the last finished request, microseconds
  std::uint64_t request_cpu = 0;      // of the last request: user and system time, microseconds
  std::uint64_t peak_memory = 0;      // of the child, measured after its last request, bytes
  std::uint64_t requests = 0;         // requests that this child has finished
  std::uint64_t content_length = 0;   // this field and the next ones: of the current request or the
                                      // last one
  std::uint64_t received = 0;         // bytes of the body read so far
  std::uint64_t reply_size = 0;       // bytes of the reply's body; 0 until known
  FixedText<16> method;
  FixedText<16> operation;
  FixedText<64> user;
  FixedText<128> repository;
  FixedText<256> uri;         // without the query
  FixedText<128> query;       // without the question mark
  FixedText<192> doing;       // description of the session's progress in the stage kExecuting
  FixedText<192> sql;         // the last long-running statement of the request
  std::int64_t sql_seen = 0;  // when it was last seen running
  FixedText<48> client;       // address of the current sync session; "" if there is none
  std::int64_t session_began = 0;
  Counters counters;

  /// Returns whether a child can have written this combination of values.
  bool is_sound() const;
};
static_assert(std::is_trivially_copyable_v<SlotState>);
static_assert(sizeof(SlotState) % sizeof(std::uint64_t) == 0);

/// The process that refused a request.
enum class Refuser : std::uint32_t {
  kWorker,
  kFront,  // the HTTP front
  kPages,  // the page server
};
std::string_view name_of(Refuser refuser);

/// A request that was refused, in a form that may be shown on the status page: without the query,
/// entered user names, or details that belong only in the log.
struct Refusal {
  std::int64_t at = 0;       // microseconds since 1970; 0: there is no refusal
  std::uint32_t status = 0;  // HTTP status; 200 for a refused sync
  Refuser by = Refuser::kWorker;
  std::uint64_t times = 1;  // number of refusals, if entries are merged by reason (refusal_tally.h)
  FixedText<16> method{};
  FixedText<96> uri{};  // without the query
  FixedText<128> text{};

  /// Sets the method, and the URI without its query.
  void of_request(std::string_view asked_method, std::string_view target);
  /// Returns whether a child can have written this.
  bool is_sound() const;
};
static_assert(std::is_trivially_copyable_v<Refusal>);
static_assert(sizeof(Refusal) % sizeof(std::uint64_t) == 0);

/// The configured limits of a pool's processes. Limits that the process manager does not use are 0.
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
  std::uint64_t previous_children = 0;     // children of earlier generations, which are finishing
  std::uint64_t max_active = 0;            // highest number of active children
  std::uint64_t max_children_reached = 0;  // how often max_children was reached
  std::uint64_t process_max_reached = 0;   // how often process.max prevented a start
  std::uint64_t held_back = 0;             // number of children that process.max currently prevents
                                           // from starting
  std::uint64_t slow_requests = 0;
  std::uint64_t max_listen_queue = 0;
  std::uint64_t backoffice_runs = 0;
  std::uint64_t backoffice_delayed = 0;   // runs that waited for a free slot
  std::uint64_t backoffice_failures = 0;  // runs that failed
  std::int64_t backoffice_ended = 0;      // end of the last run, microseconds since 1970; 0: none
  std::int64_t backoffice_took = 0;       // duration of the last run, microseconds
  FixedText<64> backoffice_outcome;       // of the last run
  std::uint64_t restarts_backed_off = 0;  // how often a restart was delayed
  std::int64_t next_start = 0;  // time of the delayed restart, microseconds since 1970; 0: not in a
                                // crash loop
  FixedText<128> backoff_reason;
  Counters past;  // sums over the children that have ended

  /// Returns whether the master can have written this.
  bool is_sound() const;
};
static_assert(std::is_trivially_copyable_v<PoolState>);
static_assert(sizeof(PoolState) % sizeof(std::uint64_t) == 0);

}  // namespace quarry::scoreboard
