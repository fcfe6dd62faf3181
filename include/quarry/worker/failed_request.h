// Logs a request that failed, for the workers of a pool and for `quarry http`.
#pragma once

#include <string_view>

namespace quarry::worker {

/// A failed request. All texts except the error are from the client, and not escaped.
struct FailedRequest {
  std::string_view address;
  std::string_view method;
  std::string_view uri;
  int status = 200;
  bool is_fault = false;  // whether the server is at fault, regardless of the status
  std::string_view error;
  /// The user whose login failed, or empty if the cause is not a failed login. Other programs parse
  /// the log line of a failed login; quarryd(8) documents its format.
  std::string_view failed_login;
};

/// Logs REQUEST if it has an error, or a status of 400 or more.
void log_failed_request(const FailedRequest& request);

}  // namespace quarry::worker
