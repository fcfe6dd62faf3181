// The peers of a repository: others of the same project, with which it syncs by itself; and when.
//
// What has to be remembered of each is a row of the repository's `config`, `quarry-peer NAME`, a JSON
// object (PeerState). It is written when a sync begins, so that nobody else begins one with the same
// peer, and when it has ended.
//
//   nothing is known, or of another URL         now
//   the last tries failed                       when its time has come (next)
//   there is something the peer has not had     now, if it is to be sent
//   else                                        when `interval` has passed since the last try began
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

/// The process that syncs with a peer, which may have ended.
struct PeerRunner {
  std::string host = {};  // as ProcessTable tells it
  std::int64_t pid = 0;
  std::int64_t started = 0;
  std::int64_t since = 0;  // when the sync began
  std::int64_t until = 0;  // when it has to be over

  friend bool operator==(const PeerRunner&, const PeerRunner&) = default;
};

/// Times are in milliseconds since 1970; 0: never.
struct PeerState {
  std::string url = {};        // without its password: what all else is about
  std::int64_t tried = 0;      // when the last sync began
  std::int64_t succeeded = 0;  // when one last ended well
  std::int64_t failed = 0;     // when one last failed
  std::int64_t next = 0;       // after a failure: not before
  std::int64_t failures = 0;   // in a row
  std::string error = {};      // of the last one, empty after a success
  std::string seen = {};       // what was there when the last good sync began (mark_of)
  std::int64_t exchanged = 0;  // when something was last exchanged
  std::int64_t sent = 0;       // artifacts, in all
  std::int64_t received = 0;
  std::string moved_to = {};  // where the peer says that it is now
  std::optional<PeerRunner> runner = {};

  /// Of the row's value; what cannot be read is as if it had never been.
  static PeerState parse(std::string_view text);
  std::string text() const;

  friend bool operator==(const PeerState&, const PeerState&) = default;
};

/// The row's name for the peer NAME.
std::string peer_row(std::string_view name);
inline constexpr std::string_view kPeerRows = "quarry-peer ";

/// How long to wait, from NOW on, until there is to be a sync; 0: it is due. MARK is what is there
/// now.
std::chrono::milliseconds wait_for_peer(const PeerState& state, const PeerOptions& options,
                                        std::string_view mark, base::UnixMillis now);
/// How long to wait after FAILURES in a row, the last of which was WHY. What a peer refuses does not
/// pass by itself: it is asked ever more seldom. RANDOM: from 0 to below 1.
std::chrono::milliseconds wait_after_failure(std::int64_t failures, const base::Error& why,
                                             const PeerOptions& options, double random);
/// Whether the failure number FAILURES is told: the first, and then ever more seldom.
bool is_failure_to_log(std::int64_t failures);

/// Whether somebody syncs with the peer at this moment.
bool is_running(const PeerState& state, const ProcessTable& processes, base::UnixMillis now);

/// What a repository has that a peer may want: another text after anything came. Inside a Snapshot
/// or a Receipt.
base::Result<std::string> mark_of(repository::Repository& repository, bool with_unversioned);

}  // namespace quarry::backoffice
