// Another repository of the project, as a client sees it: reaches it, syncs with it, and tries
// again where that may help. It knows neither terminal nor signals: what there is to tell, and what
// only a person could answer, goes to a PeerWatch.
//
//   connect ─> converse ─┬─> done, or moved elsewhere
//      ↑                 ├─> the login failed: with another password, where the watch has one
//      └──── pause ──────┴─> no server, or it is busy: again, after a time that grows
//
// Each reply was stored before the next request went out, so that another try goes on where the one
// before ended. Used by `quarry sync` and `quarry clone`, and for what syncs by itself.
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
#include "quarry/transport/connect.h"
#include "quarry/transport/remote_url.h"
#include "quarry/transport/retry.h"
#include "quarry/transport/transport.h"

namespace quarry::transport {

struct PeerOptions {
  RemoteUrl url;  // with the password
  TransportOptions transport;
  /// Its user and password are those of the URL.
  sync::ClientOptions sync;
  RetryOptions retry;
  /// How a server is reached.
  std::function<base::Result<std::unique_ptr<Transport>>(const RemoteUrl&, const TransportOptions&)>
      connect = transport::connect;
};

/// What a sync tells. Each does nothing here.
class PeerWatch {
 public:
  virtual ~PeerWatch() = default;
  /// After each reply.
  virtual void progressed(const sync::ClientFigures&) {}
  /// A try has ended, with everything said.
  virtual void finished(const sync::ClientFigures&) {}
  /// The server has something for people.
  virtual void message_received(const std::string&) {}
  /// The server did not take the password. WHY is what it says, TRIES how many it has refused. The
  /// next one to try, or the error with which the sync ends.
  virtual base::Result<std::string> next_password(const RemoteUrl&, const base::Error& why,
                                                  int /*tries*/) {
    return std::unexpected(why);
  }
  /// The peer is tried again after DELAY. False: it is not, since the caller has to end.
  virtual bool wait(std::chrono::milliseconds delay, const base::Error& why) = 0;
};

class Peer {
 public:
  /// REPOSITORY and WATCH are not owned, and must outlive the peer.
  Peer(repository::Repository& repository, PeerOptions options, PeerWatch& watch);

  struct Outcome {
    RemoteUrl url;  // with the password that was taken
    /// Where the repository has moved to for good, as the server said it.
    std::optional<std::string> moved_to;
    sync::ClientFigures figures;  // of the last try
  };
  /// Syncs. Errors: those of Transport and ClientSession, of the last try.
  base::Result<Outcome> sync();

 private:
  struct Try;
  Try try_once();

  repository::Repository& repository_;
  PeerOptions options_;
  PeerWatch& watch_;
};

/// What REPOSITORY's settings say of how servers are reached (`ssl-ca-location`, `ssh-command`),
/// and then OpenSSL's variables, as with fossil.
TransportOptions transport_options_of(repository::Repository& repository);
/// TEXT at its spaces and tabs: what is in the setting `ssh-command`.
std::vector<std::string> split_words(std::string_view text);

}  // namespace quarry::transport
