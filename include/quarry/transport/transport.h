// How the requests of a sync::ClientSession reach a server, and its replies come back.
//
//   http, https   libcurl: certificates are checked, proxies are those of the environment
//   ssh           ssh starts `fossil test-http PATH` (or another program) on the other machine and
//                 carries HTTP; one connection for the whole session
//   file          the same program, started here
//
// A library of its own, so that libcurl weighs only on programs that are clients.
#pragma once

#include <chrono>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "quarry/base/result.h"
#include "quarry/sync/client_options.h"

namespace quarry::transport {

struct TransportOptions {
  /// Certificates of the authorities to believe, a PEM file or a folder of such, as c_rehash(1)
  /// makes it; both empty: those of the system.
  std::string ca_file;
  std::string ca_folder;
  /// How long to wait for a connection, and for a server that says nothing.
  std::chrono::seconds connect_timeout{30};
  std::chrono::seconds idle_timeout{300};
  /// Of one reply as it travels, in bytes.
  std::size_t max_reply = std::size_t{512} << 20;
  /// ssh and its first arguments.
  std::vector<std::string> ssh_command{"ssh", "-e", "none", "-T"};
  /// What `file:` starts, where the URL names nothing: a program that understands `test-http FILE`.
  std::string local_program = "fossil";
  /// Whether to give up; asked about once a second while an exchange lasts, and when a signal
  /// comes.
  std::function<bool()> is_interrupted;
};

struct TransportReply {
  std::string content_type;
  std::string body;
  /// The server is elsewhere: the request has to be made anew, without credentials. It goes there
  /// from now on.
  bool was_redirected = false;
};

class Transport {
 public:
  virtual ~Transport() = default;

  /// Sends REQUEST and waits for its reply. Errors: kIo (no server, or it ended in the middle),
  /// kDenied (a certificate that is not believed, a redirect that is not followed), kNotFound
  /// (404), kLimit, kInvalid. After an interruption: kIo.
  virtual base::Result<TransportReply> exchange(const sync::ClientRequest& request) = 0;
  /// Of the server, as far as it is known after an exchange.
  virtual std::string remote_address() const = 0;
  /// Where the repository has moved to for good, if the server said so.
  virtual std::optional<std::string> moved_to() const { return std::nullopt; }
};

}  // namespace quarry::transport
