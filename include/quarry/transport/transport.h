// Sends the requests of a sync::ClientSession to a server, and returns the replies.
//
//   http, https   libcurl; verifies certificates and uses the proxies of the environment
//   ssh           ssh starts `fossil test-http PATH` (or another program) on the remote host and
//                 carries HTTP; one connection for the whole session
//   file          the same program, started locally
//
// The transport is a separate library, so that only clients link libcurl.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "quarry/base/result.h"
#include "quarry/sync/client_session.h"
#include "quarry/transport/remote_url.h"

namespace quarry::transport {

struct TransportOptions {
  /// Trusted CA certificates: a PEM file, or a directory created by c_rehash(1). If ca_file and
  /// ca_folder are empty, the system's certificates are used.
  std::string ca_file;
  std::string ca_folder;
  /// Time limits for connecting, and for a server that does not send anything.
  std::chrono::seconds connect_timeout{30};
  std::chrono::seconds idle_timeout{300};
  /// Maximum size of a reply on the wire, in bytes.
  std::size_t max_reply = std::size_t{512} << 20;
  /// The program ssh and its first arguments.
  std::vector<std::string> ssh_command{"ssh", "-e", "none", "-T"};
  /// The program for a file: URL without ?fossil=. The program must support `test-http FILE`.
  std::string local_program = "fossil";
  /// Returns whether to abort. Called about once a second during an exchange, and after a signal.
  std::function<bool()> is_interrupted;
};

struct TransportReply {
  std::string content_type;
  std::string body;
  /// Whether the server has redirected the request. If so, the caller has to build the request
  /// again without credentials. Later requests go to the new URL.
  bool was_redirected = false;
};

class Transport {
 public:
  virtual ~Transport() = default;

  /// Sends REQUEST and waits for the reply. Errors: kIo (cannot connect, the connection broke, or
  /// is_interrupted returned true), kDenied (untrusted certificate, or a redirect that is not
  /// followed), kNotFound (404), kLimit, kInvalid.
  virtual Result<TransportReply> exchange(const sync::ClientRequest& request) = 0;
  /// Returns the server's address, if it is known after an exchange.
  virtual std::string remote_address() const = 0;
  /// Returns the new URL of the repository if the server has reported a permanent move.
  virtual std::optional<std::string> moved_to() const { return std::nullopt; }
};

/// Returns the transport for the scheme of URL. Errors: kInvalid.
Result<std::unique_ptr<Transport>> connect(const RemoteUrl& url, const TransportOptions& options);

}  // namespace quarry::transport
