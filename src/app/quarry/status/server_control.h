// Queries the control socket of the running server to which a command refers.
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

  /// Sends QUESTION to the server and returns its answer. Errors: those of control::ask(), and
  /// kNotFound if the configuration has no control socket.
  base::Result<std::string> ask(control::Question question) const;
};

}  // namespace quarry::app
