// The client's side of a sync. Produces one request after another and processes the replies until
// both sides have all artifacts. A Transport sends the requests.
//
//   clone   `clone 3 N` until the server has sent all artifacts. All artifacts are stored
//           first, and processed together at the end. Then one request for the configuration,
//           and pulls if artifacts refer to missing artifacts
//   pull    `gimme` for phantoms; `igot` and clusters in replies can create more phantoms
//   files   unversioned files: see src/sync/client/client_unversioned.h
//   push    artifacts that were never sent before, and `igot` for all unclustered artifacts;
//           then the artifacts that the server requests
//
// Each reply is processed in one transaction. If an error occurs, the file stays as it was after
// the previous reply. `quarry sync`, `quarry clone` and `quarry peer run` use ClientSession.
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
  /// Make the repository a clone of the server's repository. It must have been created by
  /// init_for_clone().
  bool clone = false;
  bool pull = false;
  bool push = false;
  /// Also sync private artifacts. The server requires the capability `x`.
  bool with_private = false;
  /// Also sync unversioned files, in the directions that `push` and `pull` select, or in a clone.
  bool with_unversioned = false;
  /// Make both sides name all their artifacts, including artifacts in clusters.
  bool verily = false;

  /// The user for the login. Empty for no login.
  std::string user;
  /// The password. If it has 40 hex digits, it is used as the hash that the server stores.
  std::string password;
  /// The local user (user.uid) that is recorded in `rcvfrom`.
  std::int64_t uid = 1;
  /// Limit on the size of one reply, uncompressed, in bytes.
  std::size_t max_reply = std::size_t{512} << 20;
  /// Callbacks for the processing of a clone's artifacts.
  repository::CompletionWatch watch = {};
};

/// Statistics of the session so far.
struct ClientFigures {
  std::uint64_t round_trips = 0;
  std::uint64_t artifacts_sent = 0;
  std::uint64_t artifacts_received = 0;
  std::uint64_t unversioned_received = 0;  // including deletions and changed file times
  std::uint64_t bytes_sent = 0;            // as transferred
  std::uint64_t bytes_received = 0;
  /// Seconds by which the server's clock is ahead, according to its last reply. Includes the
  /// network delay.
  std::int64_t clock_skew = 0;
};

struct ClientRequest {
  std::string content_type;
  std::string body;
};

class ClientSession {
 public:
  /// REPOSITORY is not owned and must outlive the session. Do not call any function of this class
  /// while a Snapshot or Receipt of REPOSITORY exists.
  ClientSession(repository::Repository& repository, ClientOptions options);
  ~ClientSession();
  ClientSession(const ClientSession&) = delete;
  ClientSession& operator=(const ClientSession&) = delete;

  /// Returns whether the sync is complete.
  bool is_done() const;
  /// Returns the next request. Call only while is_done() is false. Passes on errors from reading
  /// the repository.
  Result<ClientRequest> next_request();
  /// Returns the last request again, but without a login. Call this function if the server
  /// redirects the client to another server. Later requests do not have a login either. Call before
  /// take_reply().
  ClientRequest repeat_without_login();
  /// Processes the reply to the last request. Errors: kDenied (the server's message, after "the
  /// server says: "), kInvalid (not a reply of a Fossil server, malformed cards, or content that
  /// does not match its hash), kLimit, errors from storing. A clone detects a wrong hash only after
  /// all artifacts have arrived. After an error, the session has ended. REMOTE_ADDRESS is the
  /// address of the server, for `rcvfrom`.
  Result<void> take_reply(std::string_view content_type, std::string_view body,
                          std::string_view remote_address = {});

  /// Returns whether the session ended because the server rejected the user or password.
  bool login_failed() const;
  const ClientFigures& figures() const;
  /// Returns the messages for the user that the server has sent since the last call.
  std::vector<std::string> take_messages();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace quarry::sync
