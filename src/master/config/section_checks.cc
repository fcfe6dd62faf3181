#include "section_checks.h"

#include <fmt/core.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <optional>

#include "quarry/base/file_system.h"
#include "quarry/master/credentials.h"

namespace quarry::master {
namespace {

using std::filesystem::file_type;

/// Returns the type of the file PATH, the value of DIRECTIVE. If the file cannot be accessed, reports
/// a mistake and returns nullopt.
std::optional<file_type> type_of(const std::string& path, const char* directive,
                                 const Findings& findings) {
  const auto type = base::type_of_file(path);
  if (type) return *type;
  findings.mistake(directive, fmt::format("{}: {}", directive, type.error().message));
  return std::nullopt;
}

/// Returns whether PATH, the value of DIRECTIVE, is a folder. Otherwise, reports a mistake.
bool is_folder(const std::string& path, const char* directive, const Findings& findings) {
  const auto type = type_of(path, directive, findings);
  if (type && *type != file_type::directory) {
    findings.mistake(directive, fmt::format("{}: {} is not a folder", directive, path));
  }
  return type == file_type::directory;
}

/// Stores FOUND, the value of DIRECTIVE, in TARGET. If FOUND is an error, reports a mistake.
template <typename Found, typename Target>
void resolve(Result<Found> found, Target& target, const char* directive, const Findings& findings) {
  if (found) {
    target = std::move(*found);
  } else {
    findings.mistake(directive, fmt::format("{}: {}", directive, found.error().message));
  }
}

}  // namespace

void check_priority(std::optional<int>& priority, bool running_as_root, const Findings& findings) {
  if (running_as_root || !priority || *priority >= 0) return;
  findings.notice("process.priority",
                  "process.priority below 0 is ignored: quarryd does not run as root");
  priority.reset();
}

void check_process(ProcessSettings& settings, bool running_as_root, const Findings& findings) {
  check_priority(settings.priority, running_as_root, findings);
  if (!settings.chroot.empty()) {
    // Report a mistake and not only a notice, because the children must not run without the chroot.
    if (!running_as_root) {
      findings.mistake("chroot", "chroot needs root: start quarryd as root, or remove chroot");
    } else if (!is_folder(settings.chroot, "chroot", findings)) {
      return;
    }
  }
  if (!settings.chdir.empty()) is_folder(settings.chroot + settings.chdir, "chdir", findings);
}

void check_spare_servers(ProcessLimits& limits, bool has_start, const Findings& findings) {
  const std::size_t min = limits.min_spare_servers;
  const std::size_t max = limits.max_spare_servers;
  // If a value is invalid, skip the checks, because the value was already reported.
  if (min == 0 || max == 0) return;
  if (max > limits.max_children) {
    findings.mistake("pm.max_spare_servers",
                     fmt::format("pm.max_spare_servers ({}) is more than pm.max_children ({})", max,
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

void check_socket_access(PoolConfig& pool, const Findings& findings) {
  base::AccessList& access = pool.listen_options.access;
  resolve(users_named(pool.listen_acl_users), access.users, "listen.acl_users", findings);
  resolve(groups_named(pool.listen_acl_groups), access.groups, "listen.acl_groups", findings);
  if (access.empty()) return;
  const auto warn_of_no_effect = [&](const char* directive, const std::string& value) {
    if (value.empty()) return;
    findings.notice(
        directive,
        fmt::format("{} is ignored with listen.acl_users or listen.acl_groups", directive));
  };
  warn_of_no_effect("listen.owner", pool.listen_owner);
  warn_of_no_effect("listen.group", pool.listen_group);
}

void check_socket_owner(PoolConfig& pool, const Findings& findings) {
  base::ListenOptions& options = pool.listen_options;
  if (!options.access.empty()) return;
  if (pool.run_as) {
    options.owner = pool.run_as->uid;
    options.group = pool.run_as->gid;
  }
  if (!pool.listen_owner.empty()) {
    Credentials owner;
    owner.uid = options.owner;
    resolve(credentials_named(pool.listen_owner, ""), owner, "listen.owner", findings);
    options.owner = owner.uid;
  }
  if (!pool.listen_group.empty()) {
    resolve(group_named(pool.listen_group), options.group, "listen.group", findings);
  }
}

void check_slow_log(const PoolConfig& pool, bool has_log, const Findings& findings) {
  if (pool.slow_log.timeout.count() == 0 || has_log) return;
  findings.mistake("request_slowlog_timeout", "request_slowlog_timeout also needs slowlog = FILE");
}

void check_status(const PoolConfig& pool, bool has_path, const Findings& findings) {
  if (!pool.status_path.empty() && pool.status_path == pool.ping_path) {
    findings.mistake("ping.path", "ping.path and pm.status_path are the same");
  }
  const auto needs_path = [&](const char* word) {
    if (!pool.status_path.empty() || has_path) return;
    findings.mistake(word, fmt::format("{} also needs pm.status_path = PATH", word));
  };
  if (pool.status_listen) needs_path("pm.status_listen");
  if (pool.status_all) needs_path("pm.status_all");
}

void check_repositories(const PoolConfig& pool, const Findings& findings) {
  const auto report = [&](const char* directive, const std::string& path, const char* what) {
    findings.mistake(directive, fmt::format("{}: {} is {}", directive, path, what));
  };
  if (!pool.repository.empty()) {
    const std::string file = pool.process.chroot + pool.repository.string();
    const auto type = type_of(file, "repository", findings);
    if (type == file_type::directory) {
      report("repository", file, "a folder: set repositories = FOLDER instead");
    } else if (type && type != file_type::regular) {
      report("repository", file, "not a file");
    } else if (type && !looks_like_repository(file)) {
      report("repository", file, "not a Fossil repository");
    }
  }
  if (!pool.repositories.empty()) {
    const std::string folder = pool.process.chroot + pool.repositories.string();
    const auto type = type_of(folder, "repositories", findings);
    if (type == file_type::regular) {
      report("repositories", folder, "a file: set repository = FILE instead");
    } else if (type && type != file_type::directory) {
      report("repositories", folder, "not a folder");
    }
  }
}

bool looks_like_repository(const std::filesystem::path& path) {
  constexpr std::string_view kMagic("SQLite format 3\0", 16);
  std::ifstream file(path, std::ios::binary);
  if (!file) return true;
  std::string start(kMagic.size(), '\0');
  file.read(start.data(), static_cast<std::streamsize>(start.size()));
  return file && start == kMagic;
}

}  // namespace quarry::master
