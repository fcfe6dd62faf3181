// The peers of a repository. A peer is another repository of the same project, and Quarry
// automatically syncs the two repositories.
//
// The state of each peer is the row `quarry-peer NAME` in the repository's `config`, a JSON object
// (PeerState). The row is written at the start of a sync, so that other processes do not sync with
// the same peer. It is written again at the end of the sync. A sync is due:
//
//   no state, or the URL has changed            immediately
//   after failures                              at `next`
//   new content for the peer                    immediately, if the direction allows it
//   otherwise                                   `interval` after the start of the last attempt
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "quarry/backoffice/holders.h"
#include "quarry/backoffice/peer_options.h"
#include "quarry/base/result.h"
#include "quarry/base/time.h"
#include "quarry/repository/repository.h"

namespace quarry::backoffice {

/// A process that syncs with a peer. If the process was killed, the peer's row still lists the
/// process.
struct PeerRunner {
  std::string host = {};  // from ProcessTable
  std::int64_t pid = 0;
  std::int64_t started = 0;
  std::int64_t since = 0;  // start of the sync, in milliseconds since 1970
  std::int64_t until = 0;  // deadline of the sync, likewise

  friend bool operator==(const PeerRunner&, const PeerRunner&) = default;
};

/// The state of a peer. Times are in milliseconds since 1970; 0 means never.
struct PeerState {
  /// URL without the password; the other fields describe syncs with this URL.
  std::string url = {};
  std::int64_t tried = 0;      // start of the last sync
  std::int64_t succeeded = 0;  // end of the last successful sync
  std::int64_t failed = 0;     // end of the last failed sync
  std::int64_t next = 0;       // after a failure: time of the next attempt
  std::int64_t failures = 0;   // number of consecutive failures
  std::string error = {};      // error of the last sync; empty after a success
  std::string seen = {};       // mark_of() at the start of the last successful sync
  std::int64_t exchanged = 0;  // time of the last transfer of an artifact
  std::int64_t sent = 0;       // total number of artifacts
  std::int64_t received = 0;
  std::string moved_to = {};  // new location, according to the peer
  std::optional<PeerRunner> runner = {};

  /// Parses the row's value. An invalid value counts as missing.
  static PeerState parse(std::string_view text);
  std::string text() const;

  friend bool operator==(const PeerState&, const PeerState&) = default;
};

/// Returns the name of the row for peer NAME.
std::string peer_row(std::string_view name);
inline constexpr std::string_view kPeerRows = "quarry-peer ";

/// Returns the time from NOW until the next sync; 0 if the sync is due. MARK is the current
/// mark_of().
std::chrono::milliseconds wait_for_peer(const PeerState& state, const PeerOptions& options,
                                        std::string_view mark, base::UnixMillis now);
/// Returns the delay after FAILURES consecutive failures. WHY is the last failure. If the peer
/// refuses the sync, the delay is longer, because an administrator has to solve the problem. RANDOM
/// is in [0, 1).
std::chrono::milliseconds wait_after_failure(std::int64_t failures, const Error& why,
                                             const PeerOptions& options, double random);
/// Returns whether to log failure number FAILURES. True for the first failure, and then at
/// increasing intervals.
bool is_failure_to_log(std::int64_t failures);

bool is_running(const PeerState& state, const ProcessTable& processes, base::UnixMillis now);

/// Returns a text that changes whenever the repository gets content that a peer might want.
/// Requires a Snapshot or a Receipt.
Result<std::string> mark_of(repository::Repository& repository, bool with_unversioned);

}  // namespace quarry::backoffice
