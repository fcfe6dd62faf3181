// The control socket of the running server that a command is about.
#pragma once

#include <string>

#include "quarry/base/result.h"
#include "quarry/control/question.h"

namespace quarry::app {

/// The default for --config.
inline constexpr const char* kUsualConfig = "/etc/quarry/quarry.conf";

struct ServerPlace {
  std::string socket;
  std::string config = kUsualConfig;

  /// Sends QUESTION to the server and returns its answer. Errors: those of control::ask(), and that
  /// the configuration has no control socket.
  base::Result<std::string> ask(control::Question question) const;
};

}  // namespace quarry::app
