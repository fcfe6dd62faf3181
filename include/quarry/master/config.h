// Reads and checks quarryd's configuration file. Resolves its numbers, users and addresses.
//
//   [global]   the master itself: log, pid file, stop timeout
//   [http]     the built-in HTTP server, which runs only if the section exists
//   [NAME]     a pool of workers, or another section, see ReadingOptions::carried_section
//
// Directives that exist in PHP-FPM have the same names here. The whole configuration is checked
// before any process is started. Each mistake is reported with its file and line. Some settings
// require a master that runs as root. A master that runs as another user rejects these settings. If
// a setting can be ignored safely, the master logs a notice instead. The master passes on
// directives that only the workers or the gateway use, without interpreting them (CarriedOptions).
#pragma once

#include <sys/types.h>

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "quarry/base/access_format.h"
#include "quarry/base/log.h"
#include "quarry/base/result.h"
#include "quarry/base/socket.h"
#include "quarry/master/credentials.h"
#include "quarry/master/directive_table.h"
#include "quarry/master/process_manager.h"
#include "quarry/master/process_settings.h"

namespace quarry::master {

/// Requests that take longer than the timeout are logged in the slow log.
struct SlowLogConfig {
  std::string path;                      // slowlog
  std::chrono::milliseconds timeout{0};  // request_slowlog_timeout; 0: never
};

/// FILE:LINE of each value of a directive, for error messages.
using DirectivePlaces = std::map<std::string, std::vector<std::string>>;
/// Returns FILE:LINE of the last value of DIRECTIVE, or "" if no file sets it.
std::string place_of(const DirectivePlaces& places, const std::string& directive);

struct GlobalConfig {
  base::LogOptions log;
  bool daemonize = false;
  std::string pid_file;                               // "": none
  std::optional<base::SocketAddress> control;         // control.socket
  std::optional<base::SocketAddress> metrics_listen;  // metrics.listen
  std::chrono::milliseconds process_control_timeout{10'000};
  ResourceLimits limits;
  std::optional<int> priority;        // process.priority; inherited by children
  std::uint64_t process_max = 0;      // limit on the children of all pools; 0: no limit
  std::uint64_t backoffice_max = 16;  // limit on concurrent backoffice runs; 0: no limit
  std::uint64_t emergency_restart_threshold = 0;  // 0: never
  std::chrono::milliseconds emergency_restart_interval{0};
  /// Interval of status reports to systemd; 0: none.
  std::chrono::milliseconds systemd_interval{10'000};
  DirectivePlaces places;
};

/// An address on which the HTTP server listens.
struct HttpListen {
  std::optional<base::SocketAddress> address = {};  // always set after reading
  bool is_tls = false;                              // ssl
  bool redirects = false;                           // redirect
  bool has_proxy_protocol = false;                  // proxy_protocol
  bool is_ipv6_only = false;                        // [::] beside 0.0.0.0
  std::string place = {};                           // FILE:LINE; "" if not from a file
};

struct HttpConfig {
  int line = 0;
  std::vector<HttpListen> listens;           // not empty after reading
  std::string pool;                          // "": the only pool
  std::vector<std::string> trusted_proxies;  // addresses and networks
  std::optional<Credentials> run_as;         // nullopt: the pool's user
  std::string user;                          // as written in the file
  std::string group;
  ProcessSettings process;
  std::shared_ptr<CarriedOptions> carried;  // null if no directives were passed on
  DirectivePlaces places;
};

struct AccessLogConfig {
  std::string path;  // or destination:NAME; "": none
  base::AccessFormat format = base::AccessFormat::usual();
  std::vector<std::string> suppress_paths;
};

struct PoolConfig {
  std::string name;
  int line = 0;
  std::string user;  // as written in the file
  std::string group;
  std::optional<Credentials> run_as;          // nullopt: the master's user
  std::optional<base::SocketAddress> listen;  // always set after reading
  base::ListenOptions listen_options;
  std::string listen_owner;  // as written in the file, like the next three
  std::string listen_group;
  std::string listen_acl_users;
  std::string listen_acl_groups;
  std::vector<base::SocketAddress> allowed_clients;        // empty: loopback only
  ProcessLimits processes{.max_children = 4};              // pm, pm.…
  std::chrono::milliseconds request_terminate_timeout{0};  // 0: none
  AccessLogConfig access;
  bool terminate_track_finished = false;  // request_terminate_timeout_track_finished
  SlowLogConfig slow_log;
  ProcessSettings process;
  std::string status_path;  // pm.status_path; "": no page
  bool status_all = false;  // whether the status page also shows the other pools
  std::string ping_path;    // "": no page
  std::string ping_response = "pong";
  std::optional<base::SocketAddress> status_listen;  // pm.status_listen
  std::filesystem::path repository;         // file of the only repository; empty with repositories
  std::filesystem::path repositories;       // folder of repositories
  std::shared_ptr<CarriedOptions> carried;  // null if no directives were passed on
  DirectivePlaces places;
};

/// A section that the master only passes on to other programs.
struct CarriedSection {
  std::string name;
  std::string place;  // FILE:LINE
  std::shared_ptr<CarriedOptions> carried;
  DirectivePlaces places = {};
};

struct Config {
  GlobalConfig global;
  std::optional<HttpConfig> http;
  std::vector<PoolConfig> pools;
  std::vector<CarriedSection> carried;

  /// Returns the pool for the requests of the HTTP server.
  const PoolConfig& pool_of_http() const;
};

/// Returns CONFIG as the text of a file, with all directives of all sections and their defaults.
/// Directives without a value are commented out. Unless HAS_SECRETS, passwords in URLs are masked.
std::string dump(const Config& config, bool has_secrets = false);

/// Returns the VALUE of a directive of the pool NAME with `$pool` replaced by NAME.
std::string with_pool_name(std::string value, const std::string& name);

/// Returns whether the file PATH starts with SQLite's header. Also returns true if the file cannot
/// be read.
bool looks_like_repository(const std::filesystem::path& path);

/// A configuration, and all of its mistakes. Each mistake has the form "FILE:LINE: …".
struct ConfigReading {
  Config config;  // valid only without mistakes
  std::vector<std::string> mistakes;
  /// Settings without effect, mostly because the master is not root.
  std::vector<std::string> notices;
};

struct ReadingOptions {
  /// Whether the master will run as root. If so, every child needs a user.
  bool running_as_root = false;
  /// Whether the configuration is already in use. Repositories and programs are then not checked.
  bool is_in_use = false;
  /// The absolute folder to which relative paths refer. If the prefix is empty, relative paths are
  /// rejected.
  std::filesystem::path prefix{};
  /// pool_options creates the object for a pool, and http_options the object for [http]. The object
  /// receives the directives that the master does not use itself. Both functions are optional.
  std::function<std::shared_ptr<CarriedOptions>()> pool_options{};
  std::function<std::shared_ptr<CarriedOptions>()> http_options{};
  /// Creates an object that receives all directives of the section NAME. Returns null if NAME is a
  /// pool, because the master reads pools itself. Optional.
  std::function<std::shared_ptr<CarriedOptions>(const std::string& name)> carried_section{};
  /// Whether to skip all sections for which carried_section returns null.
  bool carried_sections_alone = false;
};

ConfigReading read_config(const std::filesystem::path& path, const ReadingOptions& options = {});
/// Parses TEXT. PATH is used only in messages.
ConfigReading parse_config(std::string_view text, const std::string& path,
                           const ReadingOptions& options = {});

}  // namespace quarry::master
