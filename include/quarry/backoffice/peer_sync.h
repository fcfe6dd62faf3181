// Syncs once with a peer, if a sync is due. `quarry peer` calls sync_with_peer(); the server or a
// user starts `quarry peer`.
//
//   check (read-only) ─> begin: write the peer's row (peers.h) ─> sync ─> end: write the row again
//
// The process does not take the lease, and does not hold the write lock during network I/O. So a
// peer that hangs does not block other processes.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "quarry/backoffice/holders.h"
#include "quarry/backoffice/peers.h"
#include "quarry/base/result.h"
#include "quarry/repository/repository.h"
#include "quarry/sync/client_session.h"
#include "quarry/transport/peer.h"
#include "quarry/transport/remote_url.h"
#include "quarry/transport/transport.h"

namespace quarry::backoffice {

struct PeerSyncOptions {
  PeerOptions peer;
  /// Returns the peer's URL with its password. Called for each sync.
  std::function<Result<transport::RemoteUrl>(repository::Repository&)> locate;
  /// The transport options. The timeouts are taken from `peer` instead.
  transport::TransportOptions transport;
  std::function<Result<std::unique_ptr<transport::Transport>>(const transport::RemoteUrl&,
                                                              const transport::TransportOptions&)>
      connect = transport::connect;
  std::function<bool()> is_interrupted = {};  // can be empty
  /// Receives the peer's messages for the user. Optional.
  std::function<void(const std::string&)> on_message = {};
  std::int64_t uid = 1;    // user to whom received content is attributed
  bool is_forced = false;  // sync even if it is not due
  std::int64_t pid = 0;    // process id of this process
  const ProcessTable* processes = &real_processes();
};

struct PeerReport {
  enum class What : std::uint8_t {
    kNotDue,
    kRunning,  // another process is syncing with this peer
    kDone,
    kFailed,       // the state contains the error
    kInterrupted,  // the state is unchanged
  };
  What what = What::kNotDue;
  std::chrono::milliseconds wait{0};  // until the next sync is due
  PeerState state;                    // after this sync
  sync::ClientFigures figures;        // for kDone
  std::optional<Error> error;         // for kFailed
  std::int64_t past_failures = 0;     // for kDone: number of consecutive failures before this sync
  /// Whether to log the result. True for kDone if the peer has moved, and for kFailed if the error
  /// is new or is_failure_to_log() returns true.
  bool is_news = false;
};

/// Syncs with the peer if a sync is due. A failed sync is reported as kFailed. Errors: REPOSITORY
/// could not be read or written before or after the sync. The peer's row might then still list this
/// process as running. Other processes ignore this entry after the process has exited.
Result<PeerReport> sync_with_peer(repository::Repository& repository,
                                  const PeerSyncOptions& options);

}  // namespace quarry::backoffice
