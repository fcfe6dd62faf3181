#include "quarry/master/process_settings.h"

#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>

#include "environment.h"
#include "quarry/base/log.h"

namespace quarry::master {
namespace {

using base::LogLevel;
using Resource = decltype(RLIMIT_NOFILE);

std::string written(rlim_t value) {
  return value == RLIM_INFINITY ? "unlimited" : std::to_string(value);
}

void set_limit(Resource resource, std::optional<std::uint64_t> value, const char* directive) {
  if (!value) return;
  const rlimit wanted{*value, *value};
  if (::setrlimit(resource, &wanted) == 0) return;
  const std::string reason = fail_errno("").error().message;
  rlimit limit{};
  ::getrlimit(resource, &limit);
  limit.rlim_cur = std::min<rlim_t>(*value, limit.rlim_max);
  ::setrlimit(resource, &limit);
  base::log(LogLevel::kWarning,
            "cannot set {} to {}{}; using {}, the highest value that [global] or the limits of "
            "quarryd's parent allow",
            directive, written(*value), reason, written(limit.rlim_cur));
}

void set_priority(std::optional<int> priority) {
  if (!priority || ::setpriority(PRIO_PROCESS, 0, *priority) == 0) return;
  base::log(LogLevel::kWarning, "{}",
            fail_errno("cannot set process.priority to {}", *priority).error().message);
}

Result<void> change_root(const std::string& folder) {
  if (folder.empty()) return {};
  // Call chdir("/"), because the process could otherwise leave the new root with "..".
  if (::chroot(folder.c_str()) == 0 && ::chdir("/") == 0) return {};
  return fail_errno("cannot chroot to {}", folder);
}

}  // namespace

void limit_process(const ResourceLimits& limits, std::optional<int> priority) {
  set_limit(RLIMIT_NOFILE, limits.files, "rlimit_files");
  set_limit(RLIMIT_CORE, limits.core, "rlimit_core");
  set_priority(priority);
}

Result<void> put_in_force(const ProcessSettings& settings,
                          const std::optional<Credentials>& run_as) {
  limit_process(settings.limits, settings.priority);
  set_environment(settings, run_as);
  QUARRY_TRY(change_root(settings.chroot));  // needs root
  if (run_as) QUARRY_TRY(become(*run_as));
  if (!settings.chdir.empty() && ::chdir(settings.chdir.c_str()) != 0) {
    return fail_errno("cannot change to the folder {}", settings.chdir);
  }
  // Set this flag after the change of user, which clears it.
  if (settings.dumpable && ::prctl(PR_SET_DUMPABLE, 1, 0, 0, 0) != 0) {
    base::log(LogLevel::kWarning, "{}", fail_errno("cannot set process.dumpable").error().message);
  }
  return {};
}

}  // namespace quarry::master
