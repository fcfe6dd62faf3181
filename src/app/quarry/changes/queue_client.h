// Accesses a repository's queue on a server over http or https. Requests are signed
// (quarry/sync/signed_request.h); the password is never sent.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>

#include "quarry/base/result.h"
#include "quarry/changes/tarball.h"
#include "quarry/transport/remote_url.h"
#include "quarry/transport/transport.h"

namespace quarry::app {

/// Command-line options.
struct ServerArguments {
  std::string url;
  std::string user;  // "": the user in the URL
  std::string password_file;
  std::string ca_file;
};

class QueueClient {
 public:
  /// Connects to the server at ARGUMENTS.url. The password comes from the given file, or otherwise
  /// from a prompt. Errors: kInvalid, kNotFound, kDenied, kIo.
  static Result<QueueClient> open(const ServerArguments& arguments);

  /// Requests PATH ("/ab12.json", or "" for the queue) with QUERY and returns the JSON. Errors from
  /// the server are kNotFound, kDenied, kInvalid, kConflict, kBusy, kNoSpace or kIo.
  Result<std::string> get(std::string_view path, std::string_view query = {}) const;
  Result<std::string> post(std::string_view path, std::string_view query,
                           std::string_view content_type, std::string_view body) const;
  /// Returns whether the server's repository has the check-in NAME. Returns true if the server does
  /// not answer this question. Errors: the same as for get().
  Result<bool> has_check_in(std::string_view name) const;
  /// Submits TARBALL, the change set of META, and returns its id on the server. Errors: the same as
  /// for post().
  Result<changes::ChangeSetId> submit(const changes::Meta& meta, std::string_view tarball) const;

 private:
  QueueClient(transport::RemoteUrl url, transport::TransportOptions options);
  Result<std::string> ask(std::string_view method, std::string_view path, std::string_view query,
                          std::string_view content_type, std::string_view body) const;
  Result<void> learn_project_code();

  transport::RemoteUrl url_;
  std::string base_;  // URL of the queue, without a trailing slash
  transport::TransportOptions options_;
  std::string project_code_;
};

/// Returns the tarball of META with FILES. Errors: kLimit if the tarball is larger than MAX_SIZE
/// bytes, and the errors from write_tarball().
Result<std::string> packed(const changes::Meta& meta, std::span<const changes::FileToSubmit> files,
                           std::size_t max_size);

}  // namespace quarry::app
