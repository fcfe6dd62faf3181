#include "process_checks.h"

#include <fmt/core.h>

#include <algorithm>
#include <filesystem>
#include <system_error>

namespace quarry::master {
namespace {

bool is_folder(const std::string& path) {
  std::error_code error;
  return std::filesystem::is_directory(path, error);
}

}  // namespace

void warn_of_ignored(const std::vector<std::string>& directives, const Findings& findings) {
  for (const std::string& directive : directives) {
    findings.notice(directive,
                    fmt::format("{} is ignored: quarryd does not run as root", directive));
  }
}

void check_priority(std::optional<int>& priority, bool running_as_root, const Findings& findings) {
  if (running_as_root || !priority || *priority >= 0) return;
  findings.notice("process.priority",
                  "process.priority below 0 is ignored: quarryd does not run as root");
  priority.reset();
}

void check_process(ProcessSettings& settings, bool running_as_root, const Findings& findings) {
  check_priority(settings.priority, running_as_root, findings);
  if (!settings.chroot.empty()) {
    // Not just a notice: the children would not be confined.
    if (!running_as_root) {
      findings.mistake("chroot", "chroot needs root: start quarryd as root, or leave it out");
    } else if (!is_folder(settings.chroot)) {
      findings.mistake("chroot", fmt::format("chroot: {} is no folder", settings.chroot));
      return;
    }
  }
  if (!settings.chdir.empty() && !is_folder(settings.chroot + settings.chdir)) {
    findings.mistake("chdir",
                     fmt::format("chdir: {} is no folder", settings.chroot + settings.chdir));
  }
}

void check_spare_servers(ProcessLimits& limits, bool has_start, const Findings& findings) {
  const std::size_t min = limits.min_spare_servers;
  const std::size_t max = limits.max_spare_servers;
  // Invalid values were already reported.
  if (min == 0 || max == 0) return;
  if (max > limits.max_children) {
    findings.mistake("pm.max_spare_servers",
                     fmt::format("pm.max_spare_servers: {} is more than pm.max_children, {}", max,
                                 limits.max_children));
  }
  if (min > max) {
    findings.mistake(
        "pm.min_spare_servers",
        fmt::format("pm.min_spare_servers: {} is more than pm.max_spare_servers, {}", min, max));
  }
  if (!has_start) {
    limits.start_servers = min + (max - std::min(min, max)) / 2;
  } else if (limits.start_servers < min || limits.start_servers > max) {
    findings.mistake("pm.start_servers",
                     fmt::format("pm.start_servers: {} is not between pm.min_spare_servers, {}, "
                                 "and pm.max_spare_servers, {}",
                                 limits.start_servers, min, max));
  }
}

}  // namespace quarry::master
