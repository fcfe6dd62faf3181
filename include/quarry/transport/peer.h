// Syncs with another repository of the project as a client, and retries temporary failures. It has
// no terminal and no signal handling: messages, and questions for a person, go to a PeerWatch.
//
//   connect ─> converse ─┬─> done, or moved elsewhere
//      ↑                 ├─> login failed: retry with another password, if the watch supplies one
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
  /// User and password are taken from the URL.
  sync::ClientOptions sync;
  RetryOptions retry;
  /// Connects to a server; replaced in tests.
  std::function<base::Result<std::unique_ptr<Transport>>(const RemoteUrl&, const TransportOptions&)>
      connect = transport::connect;
};

/// Receives the events of a sync. By default they are ignored.
class PeerWatch {
 public:
  virtual ~PeerWatch() = default;
  /// After each reply.
  virtual void progressed(const sync::ClientFigures&) {}
  /// An attempt has completed.
  virtual void finished(const sync::ClientFigures&) {}
  /// The server sent a message for the user.
  virtual void message_received(const std::string&) {}
  /// The server rejected the password. WHY is its message, TRIES the number of rejected passwords.
  /// Returns the next password to try, or the error to end the sync with.
  virtual base::Result<std::string> next_password(const RemoteUrl&, const base::Error& why,
                                                  int /*tries*/) {
    return std::unexpected(why);
  }
  /// Waits for DELAY before a retry. Returns false to give up instead, because the caller has to
  /// end.
  virtual bool wait(std::chrono::milliseconds delay, const base::Error& why) = 0;
};

class Peer {
 public:
  /// REPOSITORY and WATCH are not owned, and must outlive the peer.
  Peer(repository::Repository& repository, PeerOptions options, PeerWatch& watch);

  struct Outcome {
    RemoteUrl url;  // includes the accepted password
    /// Where the repository has permanently moved to, according to the server.
    std::optional<std::string> moved_to;
    sync::ClientFigures figures;  // of the last attempt
  };
  /// Syncs. Errors: those of Transport and ClientSession in the last attempt.
  base::Result<Outcome> sync();

 private:
  struct Attempt;
  Attempt attempt_sync();

  repository::Repository& repository_;
  PeerOptions options_;
  PeerWatch& watch_;
};

/// The transport settings of REPOSITORY (`ssl-ca-location`, `ssh-command`), then OpenSSL's
/// environment variables, as in fossil.
TransportOptions transport_options_of(repository::Repository& repository);
/// Splits TEXT, such as the setting `ssh-command`, at spaces and tabs.
std::vector<std::string> split_words(std::string_view text);

}  // namespace quarry::transport
