// One sync with a peer, if it is due. Run by `quarry peer`, which the server or a user starts.
//
//   check (read-only) ─> begin: the row names the process ─> sync ─> end: the row has the result
//
// Holds no lease, and no write lock during network I/O: a peer that hangs blocks no other process.
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
  /// Returns the peer's URL with its password; called for each sync.
  std::function<base::Result<transport::RemoteUrl>(repository::Repository&)> locate;
  /// Returns the transport options; timeouts come from `peer`.
  std::function<transport::TransportOptions(repository::Repository&)> transport;
  std::function<base::Result<std::unique_ptr<transport::Transport>>(
      const transport::RemoteUrl&, const transport::TransportOptions&)>
      connect = transport::connect;
  std::function<bool()> is_interrupted = {};  // may be empty
  /// Receives messages of the peer for the user. May be empty.
  std::function<void(const std::string&)> on_message = {};
  std::int64_t uid = 1;    // user whose name received content gets
  bool is_forced = false;  // sync even if not due
  std::int64_t pid = 0;    // of this process
  const ProcessTable* processes = &real_processes();
};

struct PeerReport {
  enum class What : std::uint8_t {
    kNotDue,
    kRunning,  // another process is syncing with this peer
    kDone,
    kFailed,       // and the failure was recorded
    kInterrupted,  // and nothing was recorded
  };
  What what = What::kNotDue;
  std::chrono::milliseconds wait{0};  // until the next sync is due
  PeerState state;                    // after this sync
  sync::ClientFigures figures;        // for kDone
  std::optional<base::Error> error;   // for kFailed
  std::int64_t past_failures = 0;     // for kDone: consecutive failures before it
  /// For kFailed: the failure differs from the last one. For kDone: the peer has moved.
  bool is_news = false;
};

/// Errors: those of REPOSITORY, before or after the sync itself. Nothing is recorded then, or the
/// row still says that the sync is running (which counts until this process has ended).
base::Result<PeerReport> sync_with_peer(repository::Repository& repository,
                                        const PeerSyncOptions& options);

}  // namespace quarry::backoffice
