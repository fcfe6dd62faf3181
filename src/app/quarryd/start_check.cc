#include "start_check.h"

#include <fmt/core.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <iterator>

#include "access_check.h"
#include "configuration.h"
#include "courier_configuration.h"
#include "courier_service.h"
#include "front_certificates.h"
#include "hooks_service.h"
#include "log_service.h"
#include "pool_services.h"
#include "quarry/base/file_system.h"
#include "quarry/base/log.h"
#include "quarry/base/socket.h"
#include "quarry/base/split.h"
#include "quarry/master/master.h"
#include "quarry/master/pid_file.h"
#include "replica_configuration.h"
#include "replica_service.h"
#include "repositories_check.h"

namespace quarry::app {
namespace {

using Lines = std::vector<std::string>;

/// The addresses of a configuration. The check binds all addresses; the destructor releases them.
class BoundAddresses {
 public:
  /// Addresses in INHERITABLE are not bound. If IGNORES_USED, an address in use is not an error.
  BoundAddresses(const std::vector<std::string>& inheritable, bool ignores_used)
      : inheritable_(inheritable), ignores_used_(ignores_used) {}

  /// Binds all addresses of CONFIG at the same time, like the server.
  void bind_all(const master::Config& config) {
    const master::DirectivePlaces& places = config.global.places;
    bind(config.global.control,
         master::place_of(places, places.contains("control.socket") ? "control.socket" : "pid"),
         {.mode = 0600});
    bind(config.global.metrics_listen, master::place_of(places, "metrics.listen"), {});
    if (config.http) {
      for (const master::HttpListen& each : config.http->listens)
        bind(each.address, each.place, {.is_ipv6_only = each.is_ipv6_only});
    }
    for (const master::PoolConfig& pool : config.pools) {
      bind(pool.listen, master::place_of(pool.places, "listen"), pool.listen_options);
      bind(pool.status_listen, master::place_of(pool.places, "pm.status_listen"),
           pool.listen_options);
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
    if (const auto replica = replica_config_in(config)) {
      const auto socket = replica_socket(config, *replica);
      if (socket) bind(socket->address, socket->location, socket->options);
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
    if (!address) return;
    const std::string name = master::Listener::name_of(*address, options);
    if (std::ranges::find(inheritable_, name) != inheritable_.end()) return;
    auto listener = master::Listener::open(*address, options);
    if (listener) {
      held_.push_back(std::move(*listener));
      return;
    }
    if (ignores_used_ && listener.error().code == ErrorCode::kBusy) return;
    std::string why = listener.error().message;
    const auto ours = std::ranges::find_if(inheritable_, [&](const std::string& each) {
      const auto other = base::SocketAddress::parse(each.substr(0, each.find(' ')));
      return address->port() != 0 && other && other->port() == address->port();
    });
    if (listener.error().code == ErrorCode::kBusy && ours != inheritable_.end()) {
      why = fmt::format("cannot listen on {}, because this server listens on {}: restart it",
                        address->str(), *ours);
    }
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
    std::ranges::move(read_certificates(config_).errors, std::back_inserter(found_));
    BoundAddresses addresses(start_.inheritable, /*ignores_used=*/!start_.master);
    addresses.bind_all(config_);
    std::ranges::copy(addresses.bind_failures(), std::back_inserter(found_));
    check_children(addresses);
    check_descriptors();
    return std::move(found_);
  }

 private:
  void note(const std::string& what, const Result<void>& done) {
    if (done) return;
    found_.push_back(fmt::format("{}{}: {}", place_of("global", what), what, done.error().message));
  }

  void check_logs() {
    note("error_log", base::check_log(config_.global.log));
    note("[courier] spool.directory", check_log_pipes(config_));
    for (const master::PoolConfig& pool : config_.pools) {
      const auto check = [&](const char* directive, const std::string& path) {
        if (path.empty() || base::destination_in(path)) return;
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
    const bool is_others = !pid_file && pid_file.error().code == ErrorCode::kBusy;
    if (!is_others || start_.master) note("pid", pid_file);
  }

  void note(const std::string& section, const Lines& errors) {
    for (const std::string& each : errors) {
      found_.push_back(fmt::format("{}[{}]: {}", place_of(section, each), section, each));
    }
  }

  /// Returns "FILE:LINE: " of the directive that ERROR begins with. The directive is in SECTION,
  /// unless ERROR begins with the name of another section. Returns "" if no file sets the directive.
  std::string place_of(std::string section, std::string_view error) const {
    if (error.starts_with('[')) {
      error.remove_prefix(1);
      section = base::take_until(error, ']');
      error.remove_prefix(std::min(error.find_first_not_of(' '), error.size()));
    }
    const master::DirectivePlaces* places = nullptr;
    if (section == "global") places = &config_.global.places;
    if (section == "http" && config_.http) places = &config_.http->places;
    const auto find_in = [&](const auto& sections) {
      const auto found =
          std::ranges::find_if(sections, [&](const auto& each) { return each.name == section; });
      if (found != sections.end()) places = &found->places;
    };
    find_in(config_.pools);
    find_in(config_.carried);
    if (places == nullptr) return "";
    const std::string place = master::place_of(*places, std::string(base::take_until(error, ':')));
    return place.empty() ? "" : place + ": ";
  }

  void check_children(const BoundAddresses& addresses) {
    const auto socket = courier_socket(config_);  // bind_all() reports an error
    const auto courier = courier_config_in(config_);
    if (socket && *socket) {
      ChildNeeds needs;
      needs.programs.push_back({"", program_beside("quarry-courier", QUARRY_SERVER_FOLDER)});
      needs.config = start_.config;
      needs.courier = courier;
      note("courier", access_errors(courier_process(*courier), (*socket)->runs_as, needs));
    }
    const auto replica = replica_config_in(config_);
    if (replica) {
      note("replication", access_errors(replica_process(), replica->runs_as, needs_of(*replica)));
    }
    for (const master::PoolConfig& pool : config_.pools) {
      ChildNeeds needs = needs_of(pool);
      if (replica && is_replicated(*replica, pool)) {
        if (needs.writer.empty()) needs.writer = "[replication] pools";
        needs.sockets.push_back(
            {"quarry-replica", replica->socket, addresses.has_made(replica->socket)});
      }
      if (socket && *socket && hands_over_events(config_, pool)) {
        const std::string path = (*socket)->address.path();
        needs.sockets.push_back({"the courier", path, addresses.has_made(path)});
      }
      if (const auto hooks = pool_hooks(config_, pool); !hooks) {
        note(fmt::format("[{}] hooks", pool.name), std::unexpected(hooks.error()));
      } else if (*hooks) {
        const std::string path = (*hooks)->address.path();
        needs.sockets.push_back(
            {"the courier that runs its hooks", path, addresses.has_made(path)});
        needs.hooks = (*hooks)->folder;
        note(fmt::format("[{}] hooks", pool.name), check_hooks_folder(**hooks, pool));
        needs.programs.push_back({"", program_beside("quarry-courier", QUARRY_SERVER_FOLDER)});
        // Do not check the default program, because it might not be installed, and only hooks that
        // contain %F need it.
        if (courier->options.fossil != courier::CourierOptions().fossil) {
          needs.programs.push_back({"[courier] fossil", courier->options.fossil});
        }
      }
      note(pool.name, access_errors(pool.process, pool.run_as, needs));
      check_gate(pool);
    }
    if (!config_.http || config_.pools.empty()) return;
    const master::HttpConfig& http = *config_.http;
    const master::PoolConfig& pool = config_.pool_of_http();
    ChildNeeds needs;
    if (pool.listen && pool.listen->is_unix()) {
      // Only a socket that was created by this check has its final owner and mode. A reload can
      // change the owner and mode of an existing socket.
      needs.sockets.push_back(
          {"its pool", pool.listen->path(), addresses.has_made(pool.listen->str())});
    }
    note("http", access_errors(http.process, http.run_as ? http.run_as : pool.run_as, needs));
  }

  ChildNeeds needs_of(const ReplicaConfig& replica) const {
    const replica::StreamOptions& stream = replica.options.stream;
    ChildNeeds needs;
    needs.programs.push_back({"", program_beside("quarry-replica", QUARRY_SERVER_FOLDER)});
    needs.replica_config = start_.config;
    needs.files = {{"credentials", stream.credentials, NeededAccess::kReadSecret},
                   {"tls_ca", stream.tls_ca, NeededAccess::kReadCertificates},
                   {"tls_certificate", stream.tls_certificate, NeededAccess::kReadCertificates},
                   {"tls_key", stream.tls_key, NeededAccess::kRead},
                   {"directory", replica.options.folder, NeededAccess::kWriteFolder}};
    return needs;
  }

  /// Checks the gate of POOL as the user that runs the gate.
  void check_gate(const master::PoolConfig& pool) {
    const changes::PoolOptions options = worker_options_in(pool).changes;
    const changes::GateWords& gate = options.gate;
    if (!options.is_enabled || gate.program.empty() || !pool.process.chroot.empty()) return;
    std::optional<master::Credentials> user = pool.run_as;
    if (!gate.user.empty() && ::geteuid() == 0) {
      const auto found = master::credentials_named(gate.user, "");
      if (!found) return note(pool.name, Lines{"changes.gate_user: " + found.error().message});
      user = *found;
    }
    ChildNeeds needs;
    needs.programs.push_back(
        {"changes.gate", gate.program.substr(0, gate.program.find_first_of(" \t"))});
    std::string_view readable = gate.is_sandboxed ? gate.readable : std::string_view();
    while (!readable.empty()) {
      needs.files.push_back({"changes.gate_read", std::string(base::take_until(readable, ' ')),
                             NeededAccess::kExists});
    }
    note(pool.name, access_errors(master::ProcessSettings(), user, needs));
  }

  /// Returns the repositories and programs that POOL's children need.
  ChildNeeds needs_of(const master::PoolConfig& pool) const {
    ChildNeeds needs;
    if (!pool.repository.empty()) needs.repositories.push_back(pool.repository);
    needs.folder = pool.repositories;
    if (!pool.process.chroot.empty()) return needs;  // such a pool starts no programs
    const worker::WorkerOptions options = worker_options_in(pool);
    const auto peers = peers_of(config_, pool);
    for (const ConfiguredPeer& peer : peers) needs.repositories.push_back(peer.file);
    if (options.background.is_enabled || !peers.empty()) {
      needs.programs.push_back({"", program_beside("quarry", QUARRY_PROGRAM_FOLDER)});
    }
    if (options.background.is_enabled) {
      needs.writer = "backoffice";
      needs.files.push_back({"backoffice.log", options.background.log, NeededAccess::kWriteFile});
    }
    if (options.changes.is_enabled) {
      needs.writer = "changes";
      needs.files.push_back({"changes.base", options.changes.base, NeededAccess::kWriteFolder});
      if (!pool.repository.empty()) {
        needs.files.push_back({"changes", changes::queue_base(options.changes, pool.repository, ""),
                               NeededAccess::kWriteFolder});
      }
      needs.programs.push_back({"", program_beside("quarry-changes", QUARRY_SERVER_FOLDER)});
      const changes::GateWords& gate = options.changes.gate;
      if (!gate.program.empty() && gate.is_sandboxed) {
        needs.programs.push_back({"changes.gate_sandbox", "bwrap"});
      }
    }
    if (options.pages.source != pages::Source::kNone) {
      needs.programs.push_back({"pages.program", options.pages.program, /*is_fossil=*/true});
    }
    if (options.pages.source != pages::Source::kNone && options.pages.is_confined) {
      for (const std::string& path : options.pages.allow_write) {
        needs.files.push_back({"pages.allow_write", path, NeededAccess::kExists});
      }
      for (const std::string& path : options.pages.allow_execute) {
        needs.files.push_back({"pages.allow_execute", path, NeededAccess::kExists});
      }
    }
    for (const ConfiguredPeer& peer : peers) {
      needs.files.push_back({fmt::format("[peer {}] password_file", peer.options.name),
                             peer.options.password_file, NeededAccess::kReadSecret});
      needs.files.push_back({fmt::format("[peer {}] ca_file", peer.options.name),
                             peer.options.ca_file, NeededAccess::kReadCertificates});
      const std::string url = fmt::format("[peer {}] url", peer.options.name);
      if (peer.options.url.starts_with("ssh://")) needs.programs.push_back({url, "ssh"});
      needs.files.push_back({url, file_in(peer.options.url), NeededAccess::kRead});
      needs.programs.push_back({url, program_in(peer.options.url)});
      if (!peer.options.remote.empty()) {
        needs.remotes.push_back(
            {fmt::format("[peer {}] remote", peer.options.name), peer.file, peer.options.remote});
      }
    }
    return needs;
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
    if (config_.global.metrics_listen) {
      add(1, master::ProcessSettings());
      ++needed;  // the overview
    }
    if (config_.http) {
      add(1, config_.http->process);
      const std::size_t more_listeners = config_.http->listens.size() - 1;
      needed += more_listeners + gateway_options_in(*config_.http).certificate_files.size();
    }
    return needed;
  }

  const master::Config& config_;
  const StartConditions& start_;
  Lines found_;
};

/// Returns a problem if the process that answers on metrics.listen cannot read the courier's files.
Lines unreadable_by_metrics(const master::Config& config) {
  const auto courier = courier_config_in(config);
  if (!config.global.metrics_listen || !courier) return {};
  const std::string& spool = courier->options.spool_directory;
  // The courier creates the folder at its first start, so a missing folder is not a problem.
  const auto type = base::type_of_file(spool);
  if (type && *type == std::filesystem::file_type::not_found) return {};
  ChildNeeds needs;
  needs.files.push_back(
      {"metrics.listen: the metrics of the courier will be missing", spool, NeededAccess::kRead});
  return access_errors({}, config.pools.front().run_as, needs);
}

}  // namespace

Lines start_errors(const master::Config& config, const StartConditions& start) {
  return Check(config, start).run();
}

Lines start_warnings(const master::Config& config) {
  Lines found;
  for (const master::PoolConfig& pool : config.pools) {
    const worker::WorkerOptions options = worker_options_in(pool);
    if (!pool.repositories.empty()) {
      const auto check = [&] { return errors_in_folder(pool.repositories, options.changes); };
      for (const std::string& each : check_as_child(pool.process, pool.run_as, check)) {
        found.push_back(fmt::format("[{}]: {}", pool.name, each));
      }
    }
    // Skip pools with a background service, because start_errors() checks these pools.
    const bool has_writer = options.background.is_enabled || options.changes.is_enabled;
    if (has_writer && pool.process.chroot.empty()) continue;
    ChildNeeds needs;
    needs.writer = "pushes will fail";
    if (!pool.repository.empty()) needs.repositories.push_back(pool.repository);
    needs.folder = pool.repositories;
    for (const std::string& each : access_errors(pool.process, pool.run_as, needs)) {
      if (each.starts_with(needs.writer)) found.push_back(fmt::format("[{}]: {}", pool.name, each));
    }
  }
  for (std::string& each : unreadable_by_metrics(config)) found.push_back(std::move(each));
  const FrontCertificates front = read_certificates(config);
  for (const gateway::Certificate& certificate : front.certificates) {
    for (const std::string& each : certificate.warnings) found.push_back("[http] " + each);
  }
  return found;
}

Lines bind_failures(const master::Config& config, const std::vector<std::string>& inheritable) {
  BoundAddresses addresses(inheritable, /*ignores_used=*/false);
  addresses.bind_all(config);
  return addresses.bind_failures();
}

Result<void> check_background(const master::Config& config) {
  if (config.global.log.target != base::LogTarget::kStderr) return {};
  return fail(ErrorCode::kInvalid,
              "standard error is not available in the background; set error_log to a file, "
              "syslog or journald");
}

}  // namespace quarry::app
