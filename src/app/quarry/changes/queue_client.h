// The queue of a repository on a server, over http or https: requests signed as
// quarry/sync/signed_request.h has it. The password itself never travels.
#pragma once

#include <string>
#include <string_view>

#include "quarry/base/result.h"
#include "quarry/transport/remote_url.h"
#include "quarry/transport/transport.h"

namespace quarry::app {

/// Options of the command line.
struct ServerArguments {
  std::string url;
  std::string user;  // "": that of the URL
  std::string password_file;
  std::string ca_file;
};

class QueueClient {
 public:
  /// The server at ARGUMENTS.url, with its user's password from where they say, or asked for.
  /// Errors: kInvalid, kNotFound, kDenied, kIo.
  static base::Result<QueueClient> open(const ServerArguments& arguments);

  /// What is at PATH ("/ab12.json", or "" for the queue) with QUERY. Returns the JSON. Errors: what
  /// the server says, as kNotFound, kDenied, kInvalid, kConflict, kBusy, kNoSpace or kIo.
  base::Result<std::string> get(std::string_view path, std::string_view query = {}) const;
  base::Result<std::string> post(std::string_view path, std::string_view query,
                                 std::string_view content_type, std::string_view body) const;

 private:
  QueueClient(transport::RemoteUrl url, transport::TransportOptions options);
  base::Result<std::string> ask(std::string_view method, std::string_view path,
                                std::string_view query, std::string_view content_type,
                                std::string_view body) const;
  base::Result<void> learn_project_code();

  transport::RemoteUrl url_;
  std::string base_;  // of the queue, without a slash at its end
  transport::TransportOptions options_;
  std::string project_code_;
};

}  // namespace quarry::app
