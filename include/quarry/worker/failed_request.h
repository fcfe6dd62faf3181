// Logs a request that failed. Used by the workers of a pool and by `quarry http`.
#pragma once

#include <string_view>

namespace quarry::worker {

/// A failed request. All texts except the error are as the client sent them.
struct FailedRequest {
  std::string_view address;
  std::string_view method;
  std::string_view uri;
  int status = 200;
  bool is_fault = false;  // whether the fault is the server's, whatever the status
  std::string_view error;
  /// The user whose login failed, or empty if no login failed. Other programs parse this line;
  /// quarryd(8) documents its format.
  std::string_view failed_login;
};

/// Logs REQUEST. Does nothing if REQUEST has neither an error nor a status of 400 or more.
void log_failed_request(const FailedRequest& request);

}  // namespace quarry::worker
