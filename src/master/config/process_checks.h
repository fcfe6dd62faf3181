// What is wrong with, or without effect in, the process settings of a section.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "quarry/master/process_manager.h"
#include "quarry/master/process_settings.h"

namespace quarry::master {

/// Takes a directive and what is to be said of it.
using Finding = std::function<void(const std::string& directive, const std::string& message)>;

struct Findings {
  Finding mistake;  // the configuration cannot be used
  Finding notice;   // it can, but not all of it will happen
};

/// Checks SETTINGS where the master will run as root, or not. What is ignored is taken out.
void check_process(ProcessSettings& settings, bool running_as_root, const Findings& findings);
/// The same for the priority alone.
void check_priority(std::optional<int>& priority, bool running_as_root, const Findings& findings);
/// Checks the numbers of pm = dynamic. Where pm.start_servers is not set (HAS_START), it is put
/// between the other two.
void check_spare_servers(ProcessLimits& limits, bool has_start, const Findings& findings);
/// Tells of each of DIRECTIVES that only root could do.
void warn_of_ignored(const std::vector<std::string>& directives, const Findings& findings);

}  // namespace quarry::master
