// Whether a child could begin: tried out, in a process that becomes what the child would become.
#pragma once

#include <optional>
#include <string>

#include "quarry/base/result.h"
#include "quarry/master/credentials.h"
#include "quarry/master/process_settings.h"

namespace quarry::app {

/// A socket's path that a child connects to.
struct SocketToReach {
  std::string path;      // "": none
  bool is_made = false;  // whether it is there, with the owner and mode that it will have
};

/// Whether a child with SETTINGS can become RUN_AS, and what it then may not reach. Errors: what
/// would keep it from its work.
base::Result<void> try_child(const master::ProcessSettings& settings,
                             const std::optional<master::Credentials>& run_as,
                             const SocketToReach& socket = {});

}  // namespace quarry::app
