// The client's side of a sync: produces requests one after another and processes the replies until
// both sides have everything. A Transport carries the bytes.
//
//   clone   `clone 3 N` until the server has no more; artifacts are stored unprocessed and then
//           processed all at once; then one request for the configuration; if artifacts refer to
//           missing ones, pulls follow
//   pull    `gimme` for phantoms; `igot` and clusters in replies make further phantoms
//   files   unversioned files: see src/sync/client/client_unversioned.h
//   push    artifacts never sent before, and `igot` for everything unclustered; then what the server
//           asks for
//
// Each reply is one transaction: after an error in it, the file is as the previous reply left it.
// Used by `quarry sync`, `quarry clone` and the backoffices of peers.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "quarry/base/result.h"
#include "quarry/repository/repository.h"
#include "quarry/sync/client_options.h"

namespace quarry::sync {

class ClientSession {
 public:
  /// REPOSITORY is not owned and must outlive the session. No Snapshot or Receipt of it may be open
  /// during a call.
  ClientSession(repository::Repository& repository, ClientOptions options);
  ~ClientSession();
  ClientSession(const ClientSession&) = delete;
  ClientSession& operator=(const ClientSession&) = delete;

  /// Whether the sync is complete.
  bool is_done() const;
  /// The next request; only while is_done() is false. Errors: those of reading the repository.
  base::Result<ClientRequest> next_request();
  /// The last request without a login, for a server that it was redirected to; later requests have
  /// no login either. Call before take_reply().
  ClientRequest repeat_without_login();
  /// Processes the reply to the last request. Errors: kDenied (the server's message, after "the
  /// server says: "), kInvalid (not a reply of a Fossil server, malformed cards, content that does
  /// not match its hash; when cloning, found once everything has arrived), kLimit, and those of
  /// storing. After an error the session is over. REMOTE_ADDRESS is the server's, for `rcvfrom`.
  base::Result<void> take_reply(std::string_view content_type, std::string_view body,
                                std::string_view remote_address = {});

  /// Whether the session ended because the server rejected the user or password.
  bool login_failed() const;
  const ClientFigures& figures() const;
  /// Messages for the user that the server has sent since the last call.
  std::vector<std::string> take_messages();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace quarry::sync
