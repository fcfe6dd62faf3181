// The line of the log that tells of a failed login. Other programs read it: its form is in
// quarryd(8).
#pragma once

#include <string_view>

namespace quarry::worker {

/// All of it as it came from the client, but for the reason.
struct FailedLogin {
  std::string_view address;
  std::string_view name;  // not empty
  std::string_view reason;
  std::string_view method;
  std::string_view uri;
};

void log_failed_login(const FailedLogin& failed);

}  // namespace quarry::worker
