// The Unix socket of quarry-replica. A worker asks it to publish what it has committed.
//
//   publish POOL NAME\n   publishes all unpublished changes of the repository NAME of POOL ("" if
//                         the pool has a single repository), and answers when a quorum of servers
//                         has stored them
//   notify POOL NAME\n    the same without an answer
//   status\n              answers with one line of JSON
//   status POOL NAME\n    the state of one repository, with its number of artifacts and their digest
//
// Answers: `ok JSON\n` or `error TEXT\n`. The socket's owner and mode restrict access.
#pragma once

#include <chrono>
#include <string>
#include <string_view>

#include "quarry/base/result.h"

namespace quarry::control {

/// The client. Each call opens a connection.
class Publication {
 public:
  /// SOCKET is a path. TIME_OUT applies to a whole call.
  Publication(std::string socket, std::chrono::milliseconds time_out)
      : socket_(std::move(socket)), time_out_(time_out) {}

  /// Returns when everything that the repository held at the time of the call is in the stream.
  /// Errors: kBusy (not in time), kNotFound (quarry-replica does not run), kDenied, kIo (also
  /// if quarry-replica answers with an error).
  Result<void> publish(std::string_view pool, std::string_view name) const;
  /// Does not wait. Errors are ignored, because quarry-replica also finds changes by itself.
  void notify(std::string_view pool, std::string_view name) const;
  /// Returns the status as JSON. Errors: the same as for publish().
  Result<std::string> status() const;
  /// Returns the state of one repository as JSON.
  Result<std::string> status(std::string_view pool, std::string_view name) const;

 private:
  std::string socket_;
  std::chrono::milliseconds time_out_;
};

}  // namespace quarry::control
