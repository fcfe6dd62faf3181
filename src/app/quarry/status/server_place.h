// Which running server a command is about.
#pragma once

#include <string>

#include "quarry/base/result.h"
#include "quarry/control/question.h"

namespace quarry::app {

/// Where nothing else is said.
inline constexpr const char* kUsualConfig = "/etc/quarry/quarry.conf";

struct ServerPlace {
  std::string socket;
  std::string config = kUsualConfig;

  /// What the server answers to QUESTION. Errors: as control::ask(), and that the configuration
  /// does not say where to ask.
  base::Result<std::string> ask(control::Question question) const;
};

}  // namespace quarry::app
