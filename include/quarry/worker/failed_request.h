// The line of the log about a request that was not answered as its client wished.
#pragma once

#include <string_view>

namespace quarry::worker {

/// All texts but the error as they came from the client.
struct FailedRequest {
  std::string_view address;
  std::string_view method;
  std::string_view uri;
  int status = 200;
  bool is_fault = false;  // the server's, whatever the status
  std::string_view error;
  /// Whose login failed; empty: no login did. Other programs read the line then: its form is in
  /// quarryd(8).
  std::string_view failed_login;
};

void log_failed_request(const FailedRequest& request);

}  // namespace quarry::worker
