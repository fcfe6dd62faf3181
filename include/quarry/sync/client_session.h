// The client's side of a sync: makes one request after the other and takes the replies, until
// nothing is left to be said. How the bytes travel is a Transport's business.
//
//   clone   `clone 3 N` until the server has no more: what comes is put in unseen, then looked at
//           all at once; then one request for the configuration; where something that came refers
//           to what did not come, pulls follow
//   pull    `gimme` for phantoms; `igot` and clusters in replies make further phantoms
//   files   unversioned ones: see src/sync/client/client_unversioned.h
//   push    what was never sent, and `igot` for everything unclustered; then what the server asks
//           for
//
// Each reply is one transaction: an error in it, in its cards or on the way leaves the file as the
// reply before has left it. Called by `quarry sync` and `quarry clone`, and by peers' backoffices.
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
  /// REPOSITORY is not owned, and must outlive the session; nobody has a Snapshot of it or a
  /// Receipt for it open during a call.
  ClientSession(repository::Repository& repository, ClientOptions options);
  ~ClientSession();
  ClientSession(const ClientSession&) = delete;
  ClientSession& operator=(const ClientSession&) = delete;

  /// Whether everything was said.
  bool is_done() const;
  /// What to send next. Only while is_done() is false. Errors: what reading the file gives.
  base::Result<ClientRequest> next_request();
  /// The last request again, for another server than the one that was meant: nobody logs in any
  /// more. Before take_reply().
  ClientRequest repeat_without_login();
  /// Takes the reply to the last request. Errors: kDenied (what the server says; it begins with
  /// "the server says: "), kInvalid (no reply of a Fossil server, malformed cards, content that is
  /// not what its name says: of a clone when it has come whole), kLimit, and what storing gives.
  /// After an error the session is over. REMOTE_ADDRESS is the server's, for `rcvfrom`.
  base::Result<void> take_reply(std::string_view content_type, std::string_view body,
                                std::string_view remote_address = {});

  /// Whether the session ended since the server does not know the user, or not the password.
  bool login_failed() const;
  const ClientFigures& figures() const;
  /// What the server has told for people since the last call.
  std::vector<std::string> take_messages();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace quarry::sync
