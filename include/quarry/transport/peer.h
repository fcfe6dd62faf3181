// Syncs with another repository of the project as a client, and retries temporary failures.
// Messages and questions for the user are passed to a PeerWatch, so this code does not use a
// terminal or signals.
//
//   connect ─> converse ─┬─> done, or moved elsewhere
//      ↑                 ├─> login failed: retry with another password, if the watch has one
//      └──── pause ──────┴─> server unreachable or busy: retry with backoff
//
// Each reply is stored before the next request is sent, so a retry continues where the last attempt
// stopped. `quarry sync`, `quarry clone` and automatic syncs use Peer.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "quarry/base/result.h"
#include "quarry/repository/repository.h"
#include "quarry/sync/client_session.h"
#include "quarry/transport/remote_url.h"
#include "quarry/transport/retry.h"
#include "quarry/transport/transport.h"

namespace quarry::transport {

struct PeerOptions {
  RemoteUrl url;  // includes the password
  TransportOptions transport;
  /// Options of the sync. `sync.user` and `sync.password` are ignored, because `url` contains both.
  sync::ClientOptions sync;
  RetryOptions retry;
  /// Connects to a server. Tests replace this function.
  std::function<Result<std::unique_ptr<Transport>>(const RemoteUrl&, const TransportOptions&)>
      connect = transport::connect;
};

/// Receives the events of a sync. By default, most events are ignored.
class PeerWatch {
 public:
  virtual ~PeerWatch() = default;
  /// Called after each reply.
  virtual void progressed(const sync::ClientFigures&) {}
  /// Called when an attempt has completed.
  virtual void finished(const sync::ClientFigures&) {}
  /// Called for each message that the server sent for the user.
  virtual void message_received(const std::string&) {}
  /// Called when the server has rejected the password. WHY is the server's message; TRIES is the
  /// number of rejected passwords. Returns the next password, or an error that ends the sync.
  virtual Result<std::string> next_password(const RemoteUrl&, const Error& why, int /*tries*/) {
    return std::unexpected(why);
  }
  /// Waits for DELAY before a retry. Returns false if the sync has to stop without a retry.
  virtual bool wait(std::chrono::milliseconds delay, const Error& why) = 0;
};

class Peer {
 public:
  /// Creates a peer. REPOSITORY and WATCH are not owned, and must outlive the peer.
  Peer(repository::Repository& repository, PeerOptions options, PeerWatch& watch);

  struct Outcome {
    RemoteUrl url;  // includes the accepted password
    /// The new URL of the repository if the server has reported a permanent move.
    std::optional<std::string> moved_to;
    sync::ClientFigures figures;  // statistics of the last attempt
  };
  /// Syncs the repository. Errors: the errors from Transport and ClientSession in the last attempt.
  Result<Outcome> sync();

 private:
  struct Attempt;
  Attempt attempt_sync();

  repository::Repository& repository_;
  PeerOptions options_;
  PeerWatch& watch_;
};

/// Returns options that use the CA certificates in SSL_CERT_FILE and SSL_CERT_DIR, OpenSSL's
/// environment variables. Fossil's `ssl-ca-location` and `ssh-command` settings are ignored,
/// because a repository must not choose the files and programs that this process uses.
TransportOptions options_of_environment();

}  // namespace quarry::transport
