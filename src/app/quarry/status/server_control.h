// The control socket of the running server that a command is about.
#pragma once

#include <string>

#include "quarry/base/result.h"
#include "quarry/control/question.h"

namespace quarry::app {

/// The default for --config.
inline constexpr const char* kDefaultConfig = "/etc/quarry/quarry.conf";

struct ServerControl {
  std::string socket;
  std::string config = kDefaultConfig;

  /// Sends QUESTION to the server and returns its answer. Errors: those of control::ask(), and that
  /// the configuration has no control socket.
  base::Result<std::string> ask(control::Question question) const;
};

}  // namespace quarry::app
