// Checks the process settings of a section for mistakes and for settings without effect.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "quarry/master/process_manager.h"
#include "quarry/master/process_settings.h"

namespace quarry::master {

/// Reports a message about a directive.
using Finding = std::function<void(const std::string& directive, const std::string& message)>;

struct Findings {
  Finding mistake;  // makes the configuration invalid
  Finding notice;   // a setting without effect
};

/// Checks SETTINGS and removes those that are ignored.
void check_process(ProcessSettings& settings, bool running_as_root, const Findings& findings);
/// The same for the priority only.
void check_priority(std::optional<int>& priority, bool running_as_root, const Findings& findings);
/// Checks the numbers of pm = dynamic. If pm.start_servers is not set (HAS_START), it is set to a
/// value between the other two.
void check_spare_servers(ProcessLimits& limits, bool has_start, const Findings& findings);
/// Warns that DIRECTIVES are ignored because they need root.
void warn_of_ignored(const std::vector<std::string>& directives, const Findings& findings);

}  // namespace quarry::master
