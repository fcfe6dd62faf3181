// One sync with a peer, where it is due: what `quarry peer` does, started by the server or by hand.
//
//   look, without writing ─> begin: the row says who syncs ─> talk ─> end: the row says what came of it
//
// No lease is held, and no write lock while the network is waited for: a peer that hangs keeps nobody
// from anything.
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
#include "quarry/transport/connect.h"
#include "quarry/transport/peer.h"
#include "quarry/transport/remote_url.h"
#include "quarry/transport/transport.h"

namespace quarry::backoffice {

struct PeerSyncOptions {
  PeerOptions peer;
  /// Where that is, with its password: asked each time.
  std::function<base::Result<transport::RemoteUrl>(repository::Repository&)> locate;
  /// How it is reached; time-outs are the peer's.
  std::function<transport::TransportOptions(repository::Repository&)> transport;
  std::function<base::Result<std::unique_ptr<transport::Transport>>(
      const transport::RemoteUrl&, const transport::TransportOptions&)>
      connect = transport::connect;
  std::function<bool()> is_interrupted = {};  // may be empty
  /// What a peer says for people. May be empty.
  std::function<void(const std::string&)> on_message = {};
  std::int64_t uid = 1;    // of the user in whose name things come
  bool is_forced = false;  // due or not
  std::int64_t pid = 0;    // of this process
  const ProcessTable* processes = &real_processes();
};

struct PeerReport {
  enum class What : std::uint8_t {
    kNotDue,
    kRunning,  // somebody else syncs with this peer
    kDone,
    kFailed,       // and that was noted
    kInterrupted,  // and nothing was noted
  };
  What what = What::kNotDue;
  std::chrono::milliseconds wait{0};  // until the next one is due
  PeerState state;                    // as it is now
  sync::ClientFigures figures;        // of kDone
  std::optional<base::Error> error;   // of kFailed
  std::int64_t past_failures = 0;     // of kDone: in a row, before it
  bool is_news = false;               // of kFailed: not the same as before; of kDone: it has moved
};

/// Errors: those of REPOSITORY, before the peer was reached or after; nothing is noted then, or what
/// was is that the sync goes on (which holds until this process has ended).
base::Result<PeerReport> sync_with_peer(repository::Repository& repository,
                                        const PeerSyncOptions& options);

}  // namespace quarry::backoffice
