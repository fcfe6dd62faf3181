// The client's side of a sync: produces requests one after another and processes the replies until
// both sides have everything. A Transport carries the bytes.
//
//   clone   `clone 3 N` until the server has sent all artifacts, which are stored unprocessed and
//           then processed together; then one request for the configuration; then pulls, if
//           artifacts refer to missing ones
//   pull    `gimme` for phantoms; `igot` and clusters in replies may create more phantoms
//   files   unversioned files: see src/sync/client/client_unversioned.h
//   push    artifacts that were never sent before, and `igot` for all unclustered ones; then the
//           artifacts that the server requests
//
// Each reply is one transaction: if an error occurs in it, the file stays as it was after the
// previous reply. Used by `quarry sync`, `quarry clone` and the backoffices of peers.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "quarry/base/result.h"
#include "quarry/repository/receipt.h"
#include "quarry/repository/repository.h"

namespace quarry::sync {

struct ClientOptions {
  /// The repository was created by init_for_clone() and is to become a clone of the server's
  /// repository.
  bool clone = false;
  bool pull = false;
  bool push = false;
  /// Also sync private artifacts; the server requires the capability `x`.
  bool with_private = false;
  /// Also sync unversioned files, in the directions above or when cloning.
  bool with_unversioned = false;
  /// Both sides name all their artifacts, including those in clusters.
  bool verily = false;

  /// The user to log in as. Empty for no login.
  std::string user;
  /// The password, or, if it has 40 hex digits, the hash that the server stores.
  std::string password;
  /// The user of this repository to record in `rcvfrom`.
  std::int64_t uid = 1;
  /// Limit on one reply, uncompressed, in bytes.
  std::size_t max_reply = std::size_t{512} << 20;
  /// Callbacks while a clone's artifacts are processed.
  repository::CompletionWatch watch = {};
};

/// Statistics of the session so far.
struct ClientFigures {
  std::uint64_t round_trips = 0;
  std::uint64_t artifacts_sent = 0;
  std::uint64_t artifacts_received = 0;
  std::uint64_t bytes_sent = 0;  // as transferred
  std::uint64_t bytes_received = 0;
  /// Seconds by which the server's clock was ahead at its last reply; includes the network delay.
  std::int64_t clock_skew = 0;
};

struct ClientRequest {
  std::string content_type;
  std::string body;
};

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
  /// The next request. Call only while is_done() is false. Errors: those of reading the repository.
  base::Result<ClientRequest> next_request();
  /// Returns the last request again without a login, for a server to which the client was
  /// redirected. Later requests will not have a login either. Call before take_reply().
  ClientRequest repeat_without_login();
  /// Processes the reply to the last request. Errors: kDenied (the server's message, after "the
  /// server says: "), kInvalid (not a reply of a Fossil server, malformed cards, or content that
  /// does not match its hash; a clone detects that only after all artifacts have arrived), kLimit,
  /// and those of storing. After an error the session is over. REMOTE_ADDRESS is the address of the
  /// server, for `rcvfrom`.
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
