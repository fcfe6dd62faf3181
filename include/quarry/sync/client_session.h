// The client's side of a sync: makes one request after the other and takes the replies, until
// nothing is left to be said. How the bytes travel is a Transport's business.
//
//   clone   `clone 3 N` until the server has no more: what comes is put in unseen, then looked at
//           all at once; then one request for the configuration; where something that came refers
//           to what did not come, pulls follow
//   pull    `gimme` for phantoms; `igot` and clusters in replies make further phantoms
//   files   unversioned ones: see src/sync/client_unversioned.h
//   push    what was never sent, and `igot` for everything unclustered; then what the server asks
//           for
//
// Each reply is one transaction: an error in it, in its cards or on the way leaves the file as the
// reply before has left it. Called by `quarry sync` and `quarry clone`, and by peers' backoffices.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "quarry/base/result.h"
#include "quarry/repository/repository.h"

namespace quarry::sync {

struct ClientOptions {
  /// The repository was made by init_for_clone(), and is to become what the server has.
  bool clone = false;
  bool pull = false;
  bool push = false;
  /// Private artifacts travel as well; the server wants the right `x` for it.
  bool with_private = false;
  /// Unversioned files travel as well, in the directions above; to a clone, too.
  bool with_unversioned = false;
  /// Both sides name everything that they have, instead of what no cluster names.
  bool verily = false;

  /// Who logs in; empty: nobody does.
  std::string user;
  /// The password, or, if it is 40 hex digits, what the server keeps of it.
  std::string password;
  /// Whom `rcvfrom` is to name: a user of the repository.
  std::int64_t uid = 1;
  /// Of one reply, uncompressed, in bytes.
  std::size_t max_reply = std::size_t{512} << 20;
  /// Who waits while a clone's artifacts are looked at.
  repository::CompletionWatch watch = {};
};

/// What has travelled so far.
struct ClientFigures {
  std::uint64_t round_trips = 0;
  std::uint64_t artifacts_sent = 0;
  std::uint64_t artifacts_received = 0;
  std::uint64_t bytes_sent = 0;  // bodies as they travel
  std::uint64_t bytes_received = 0;
  /// Seconds that the server's clock is ahead, by its last reply: the journey of that is in it.
  std::int64_t clock_skew = 0;
};

struct ClientRequest {
  std::string content_type;
  std::string body;
};

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
