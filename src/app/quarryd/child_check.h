// Whether a child could begin: tried out, in a process that becomes what the child would become.
#pragma once

#include <optional>
#include <string>

#include "quarry/base/result.h"
#include "quarry/master/credentials.h"
#include "quarry/master/process_settings.h"

namespace quarry::app {

/// What a child works with, by paths within its chroot; "": none.
struct Reached {
  std::string socket;           // that it connects to
  bool is_socket_made = false;  // whether it is there, with the owner and mode that it will have
  std::string repository;
  std::string repositories;  // the folder
};

/// Whether a child with SETTINGS can become RUN_AS, and then reaches REACHED. Errors: what would
/// keep it from its work.
base::Result<void> try_child(const master::ProcessSettings& settings,
                             const std::optional<master::Credentials>& run_as,
                             const Reached& reached);

}  // namespace quarry::app
