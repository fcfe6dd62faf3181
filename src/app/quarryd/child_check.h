// Checks whether a child could start, in a process with the child's user, limits and chroot.
#pragma once

#include <optional>
#include <string>

#include "quarry/base/result.h"
#include "quarry/master/credentials.h"
#include "quarry/master/process_settings.h"

namespace quarry::app {

/// The files that a child needs, as paths within its chroot; "": not needed.
struct ChildFiles {
  std::string socket;           // the pool's socket to connect to
  bool is_socket_made = false;  // whether the socket exists already, with its final owner and mode
  std::string repository;
  std::string repositories;  // the folder of repositories
};

/// Whether a child with SETTINGS can become RUN_AS and then access FILES. Error: what would
/// prevent it from working.
base::Result<void> try_child(const master::ProcessSettings& settings,
                             const std::optional<master::Credentials>& run_as,
                             const ChildFiles& files);

}  // namespace quarry::app
