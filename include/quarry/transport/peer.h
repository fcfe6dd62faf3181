// Syncs with another repository of the project as a client, and retries temporary failures. It does
// not use a terminal or handle signals: it passes messages and questions for the user to a
// PeerWatch.
//
//   connect ─> converse ─┬─> done, or moved elsewhere
//      ↑                 ├─> login failed: retry with another password, if the watch has one
//      └──── pause ──────┴─> server unreachable or busy: retry with backoff
//
// Each reply is stored before the next request is sent, so that a retry continues where the last
// attempt ended. Used by `quarry sync`, `quarry clone` and automatic syncs.
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
  /// The user and password in it are ignored; those of the URL are used.
  sync::ClientOptions sync;
  RetryOptions retry;
  /// Connects to a server; replaced in tests.
  std::function<base::Result<std::unique_ptr<Transport>>(const RemoteUrl&, const TransportOptions&)>
      connect = transport::connect;
};

/// Is notified of the events of a sync, and ignores most of them by default.
class PeerWatch {
 public:
  virtual ~PeerWatch() = default;
  /// Called after each reply.
  virtual void progressed(const sync::ClientFigures&) {}
  /// Called when an attempt has completed.
  virtual void finished(const sync::ClientFigures&) {}
  /// Called for each message that the server sent for the user.
  virtual void message_received(const std::string&) {}
  /// Called when the server has rejected the password. WHY is the server's message, TRIES the
  /// number of rejected passwords. Returns the next password to try, or the error to end the sync
  /// with.
  virtual base::Result<std::string> next_password(const RemoteUrl&, const base::Error& why,
                                                  int /*tries*/) {
    return std::unexpected(why);
  }
  /// Waits for DELAY before a retry. Returns false if the caller has to stop and there must not be
  /// a retry.
  virtual bool wait(std::chrono::milliseconds delay, const base::Error& why) = 0;
};

class Peer {
 public:
  /// REPOSITORY and WATCH are not owned, and must outlive the peer.
  Peer(repository::Repository& repository, PeerOptions options, PeerWatch& watch);

  struct Outcome {
    RemoteUrl url;  // includes the accepted password
    /// The new URL of the repository if the server says that it has moved permanently.
    std::optional<std::string> moved_to;
    sync::ClientFigures figures;  // statistics of the last attempt
  };
  /// Syncs the repository. Errors: those of Transport and ClientSession in the last attempt.
  base::Result<Outcome> sync();

 private:
  struct Attempt;
  Attempt attempt_sync();

  repository::Repository& repository_;
  PeerOptions options_;
  PeerWatch& watch_;
};

/// The transport settings of REPOSITORY (`ssl-ca-location`, `ssh-command`), supplemented by
/// OpenSSL's environment variables, as in fossil.
TransportOptions transport_options_of(repository::Repository& repository);
/// Splits TEXT, such as the setting `ssh-command`, at spaces and tabs.
std::vector<std::string> split_words(std::string_view text);

}  // namespace quarry::transport
