#include "start_check.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>

#include "courier_service.h"
#include "hooks_service.h"
#include "quarry/base/log.h"
#include "quarry/base/socket.h"
#include "quarry/base/spawn.h"
#include "quarry/master/master.h"
#include "quarry/master/pid_file.h"
#include "quarry/master/process_settings.h"

namespace quarry::app {
namespace {

using Lines = std::vector<std::string>;

/// A socket that a child connects to.
struct ConnectedSocket {
  std::string what;      // for messages, such as "its pool"
  std::string path;      // inside the child's chroot
  bool is_made = false;  // whether the socket already has its final owner and mode
};

/// The files that a child needs, as paths inside its chroot; "" for a file that it does not need.
struct ChildFiles {
  std::vector<ConnectedSocket> sockets;
  std::string repository;
  std::string repositories;  // the folder of repositories
  std::string hooks;         // the folder of waiting hooks, which may not exist yet
};

bool may(int what, const std::string& path) {
  return ::faccessat(AT_FDCWD, path.c_str(), what, AT_EACCESS) == 0;
}

base::Result<void> check_access(const ChildFiles& files) {
  for (const ConnectedSocket& socket : files.sockets) {
    const auto folder = std::filesystem::path(socket.path).parent_path() / ".";
    if (may(X_OK, folder) && (!socket.is_made || may(W_OK, socket.path))) continue;
    return base::fail_errno(fmt::format("cannot connect to {} at {}", socket.what, socket.path));
  }
  if (!files.repository.empty() && !may(F_OK, files.repository)) {
    return base::fail_errno(fmt::format("cannot reach its repository {}", files.repository));
  }
  // Files in the folder are opened by name, so search permission is enough.
  if (!files.repositories.empty() && !may(X_OK, files.repositories)) {
    return base::fail_errno(
        fmt::format("cannot enter its repository folder {}", files.repositories));
  }
  if (!files.hooks.empty() && !may(W_OK | X_OK, files.hooks) && errno != ENOENT) {
    return base::fail_errno(fmt::format("cannot write to its hooks folder {}", files.hooks));
  }
  return {};
}

/// Checks that a child with SETTINGS can become RUN_AS and then access FILES. The check runs in a
/// process with the child's user, limits and chroot. Errors: why this is not possible.
base::Result<void> try_child(const master::ProcessSettings& settings,
                             const std::optional<master::Credentials>& run_as,
                             const ChildFiles& files) {
  QUARRY_TRY_ASSIGN(const std::string failure, base::run_in_child([&] {
                      // Suppress warnings, because the real start of the child logs them.
                      base::set_log_level(base::LogLevel::kAlert);
                      auto done = master::put_in_force(settings, run_as);
                      if (done) done = check_access(files);
                      return done ? std::string() : done.error().message;
                    }));
  if (failure.empty()) return {};
  return base::fail(base::ErrorCode::kDenied, failure);
}

/// The addresses of a configuration. The check binds all addresses; the destructor releases them.
class BoundAddresses {
 public:
  /// Addresses in INHERITABLE are not bound. If IGNORES_USED, an address in use is not an error.
  BoundAddresses(const std::vector<std::string>& inheritable, bool ignores_used)
      : inheritable_(inheritable), ignores_used_(ignores_used) {}

  /// Binds all addresses of CONFIG at the same time, like the server.
  void bind_all(const master::Config& config) {
    bind(config.global.control, config.global.control_place, {.mode = 0600});
    if (config.http) bind(config.http->listen, config.http->listen_place, {});
    for (const master::PoolConfig& pool : config.pools) {
      bind(pool.listen, pool.listen_place, pool.listen_options);
      bind(pool.status_listen, pool.status_listen_place, pool.listen_options);
    }
    if (const auto socket = courier_socket(config); !socket) {
      failures_.push_back("[courier]: " + socket.error().message);
    } else if (*socket) {
      bind((*socket)->address, (*socket)->location, (*socket)->options);
      for (const master::PoolConfig& pool : config.pools) {
        const auto hooks = pool_hooks(config, pool);
        if (hooks && *hooks) bind((*hooks)->address, (*socket)->location, (*hooks)->listen);
      }
    }
  }
  const Lines& bind_failures() const { return failures_; }
  /// Returns whether this object has created the socket at PATH. A socket that was created here has
  /// its final owner and mode.
  bool has_made(const std::string& path) const {
    return std::ranges::find(held_, path, &master::Listener::asked_for) != held_.end();
  }

 private:
  void bind(const std::optional<base::SocketAddress>& address, const std::string& location,
            const base::ListenOptions& options) {
    if (!address || std::ranges::find(inheritable_, address->str()) != inheritable_.end()) return;
    auto listener = master::Listener::open(*address, options);
    if (listener) {
      held_.push_back(std::move(*listener));
      return;
    }
    if (ignores_used_ && listener.error().code == base::ErrorCode::kBusy) return;
    const std::string& why = listener.error().message;
    failures_.push_back(location.empty() ? why : fmt::format("{}: {}", location, why));
  }

  const std::vector<std::string>& inheritable_;
  bool ignores_used_;
  std::vector<master::Listener> held_;
  Lines failures_;
};

class Check {
 public:
  Check(const master::Config& config, const StartConditions& start)
      : config_(config), start_(start) {}

  Lines run() && {
    if (start_.in_background) note("daemonize", check_background(config_));
    check_logs();
    check_pid_file();
    BoundAddresses addresses(start_.inheritable, /*ignores_used=*/!start_.master);
    addresses.bind_all(config_);
    std::ranges::copy(addresses.bind_failures(), std::back_inserter(found_));
    check_children(addresses);
    check_descriptors();
    return std::move(found_);
  }

 private:
  void note(const std::string& what, const base::Result<void>& done) {
    if (!done) found_.push_back(fmt::format("{}: {}", what, done.error().message));
  }

  void check_logs() {
    note("error_log", base::check_log(config_.global.log));
    for (const master::PoolConfig& pool : config_.pools) {
      const auto check = [&](const char* directive, const std::string& path) {
        if (path.empty()) return;
        note(fmt::format("[{}] {}", pool.name, directive), base::check_log_file(path));
      };
      check("access.log", pool.access.path);
      check("slowlog", pool.slow_log.path);
    }
  }

  void check_pid_file() {
    const std::string& path = config_.global.pid_file;
    if (path.empty()) return;
    const auto pid_file = master::check_pid_file(path, start_.master.value_or(-1));
    const bool is_others = !pid_file && pid_file.error().code == base::ErrorCode::kBusy;
    if (!is_others || start_.master) note("pid", pid_file);
  }

  void check_children(const BoundAddresses& addresses) {
    const auto courier = courier_socket(config_);
    for (const master::PoolConfig& pool : config_.pools) {
      ChildFiles files;
      files.repository = pool.repository;
      files.repositories = pool.repositories;
      if (courier && *courier && hands_over_events(config_, pool)) {
        const std::string path = (*courier)->address.path();
        files.sockets.push_back({"the courier", path, addresses.has_made(path)});
      }
      if (const auto hooks = pool_hooks(config_, pool); !hooks) {
        note(fmt::format("[{}] hooks", pool.name), std::unexpected(hooks.error()));
      } else if (*hooks) {
        const std::string path = (*hooks)->address.path();
        files.sockets.push_back(
            {"the courier that runs its hooks", path, addresses.has_made(path)});
        files.hooks = (*hooks)->folder;
        note(fmt::format("[{}] hooks", pool.name), check_hooks_folder(**hooks, pool));
      }
      note(fmt::format("[{}]", pool.name), try_child(pool.process, pool.run_as, files));
    }
    if (!config_.http || config_.pools.empty()) return;
    const master::HttpConfig& http = *config_.http;
    const master::PoolConfig& pool = config_.pool_of_http();
    ChildFiles files;
    if (pool.listen && pool.listen->is_unix()) {
      // Only a socket that was created by this check has its final owner and mode. A reload can
      // change the owner and mode of an existing socket.
      files.sockets.push_back(
          {"its pool", pool.listen->path(), addresses.has_made(pool.listen->str())});
    }
    note("[http]", try_child(http.process, http.run_as ? http.run_as : pool.run_as, files));
  }

  /// Checks that the minimum number of descriptors is available. Libraries might need more.
  void check_descriptors() {
    rlimit limit{};
    if (::getrlimit(RLIMIT_NOFILE, &limit) != 0) return;
    // If the configured limit is too high for the system, the server uses the highest possible
    // limit.
    const std::uint64_t max_files = ::geteuid() == 0 ? UINT64_MAX : limit.rlim_max;
    const std::uint64_t allowed =
        std::min<std::uint64_t>(config_.global.limits.files.value_or(limit.rlim_cur), max_files);
    const std::uint64_t needed = descriptors_needed();
    if (needed <= allowed) return;
    found_.push_back(fmt::format(
        "rlimit_files: the limit of {} open files is too low: quarryd needs {}", allowed, needed));
  }

  std::uint64_t descriptors_needed() const {
    // Descriptors for the standard streams, the event loop and signals, and one more that is open
    // while a child is started.
    std::uint64_t needed = 6;
    if (config_.global.log.target != base::LogTarget::kStderr) ++needed;
    if (config_.global.control) ++needed;
    const auto add = [&](std::uint64_t children, const master::ProcessSettings& process) {
      constexpr std::uint64_t kListenerAndBoard = 2;
      needed += kListenerAndBoard + children * (process.catch_output ? 3 : 1);
    };
    std::uint64_t may_start =
        config_.global.process_max == 0 ? UINT64_MAX : config_.global.process_max;
    for (const master::PoolConfig& pool : config_.pools) {
      const auto first = std::min<std::uint64_t>(master::first_children(pool.processes), may_start);
      may_start -= first;
      add(first, pool.process);
      if (pool.processes.manager == master::ProcessManager::kOndemand) needed += 2;
      if (pool.status_listen) add(1, pool.process);
      if (!pool.access.path.empty()) ++needed;
    }
    if (config_.http) add(1, config_.http->process);
    return needed;
  }

  const master::Config& config_;
  const StartConditions& start_;
  Lines found_;
};

}  // namespace

Lines start_errors(const master::Config& config, const StartConditions& start) {
  return Check(config, start).run();
}

Lines bind_failures(const master::Config& config, const std::vector<std::string>& inheritable) {
  BoundAddresses addresses(inheritable, /*ignores_used=*/false);
  addresses.bind_all(config);
  return addresses.bind_failures();
}

base::Result<void> check_background(const master::Config& config) {
  if (config.global.log.target != base::LogTarget::kStderr) return {};
  return base::fail(base::ErrorCode::kInvalid,
                    "standard error is not available in the background; set error_log to a file, "
                    "syslog or journald");
}

}  // namespace quarry::app
