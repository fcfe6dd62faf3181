// Adds the id of the current request to all lines that this process logs.
#pragma once

#include <string>

namespace quarry::base {

/// While an object of this class exists, each line of the log contains its id: at the end of the
/// message, or as the member `request` of a JSON line. If several objects exist, the newest
/// object's id is logged. An empty id is not logged.
class LogRequest {
 public:
  explicit LogRequest(std::string id);
  ~LogRequest();
  LogRequest(const LogRequest&) = delete;
  LogRequest& operator=(const LogRequest&) = delete;

 private:
  std::string outer_;
};

}  // namespace quarry::base
