// Sends queries to the control socket of a running server.
#pragma once

#include <string>

#include "quarry/base/result.h"
#include "quarry/control/question.h"

namespace quarry::app {

/// The default value of --config.
inline constexpr const char* kDefaultConfig = "/etc/quarry/quarry.conf";

struct ServerControl {
  std::string socket;
  std::string config = kDefaultConfig;

  /// Sends QUESTION to the server and returns its answer. Errors: kNotFound if the configuration
  /// does not have a control socket, and the errors from control::ask().
  Result<std::string> ask(control::Question question) const;
};

}  // namespace quarry::app
