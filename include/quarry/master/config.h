// The configuration file of quarryd, checked and turned into numbers, users and addresses.
//
//   [global]   the master itself: log, pid file, how long a stop may take
//   [http]     the built-in HTTP front; absent: none
//   [NAME]     any other section is a pool of workers, unless somebody else knows it
//
// Directives have PHP-FPM's names wherever they mean the same. Everything is checked before
// anything is started, and every mistake is reported with its file and line; an unknown directive
// is one. What cannot be done without root and can be left out safely is a notice. Words that the
// workers or the gateway give a meaning to are only carried here (CarriedOptions).
#pragma once

#include <sys/types.h>

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <functional>
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

/// A request that takes longer than the timeout gets a line in the slow log.
struct SlowLogConfig {
  std::string path;                      // slowlog
  std::chrono::milliseconds timeout{0};  // request_slowlog_timeout; 0: never
};

struct GlobalConfig {
  base::LogOptions log;
  bool daemonize = false;
  std::string pid_file;                        // "": none
  std::optional<base::SocketAddress> control;  // control.socket
  std::string control_place;                   // FILE:LINE of it, or of the pid file
  std::chrono::milliseconds process_control_timeout{10'000};
  ResourceLimits limits;
  std::optional<int> priority;        // process.priority, also of children that have no other
  std::uint64_t process_max = 0;      // children of all pools together; 0: no bound
  std::uint64_t backoffice_max = 16;  // backoffice runs of all pools together; 0: no bound
  std::uint64_t emergency_restart_threshold = 0;  // 0: never
  std::chrono::milliseconds emergency_restart_interval{0};
  std::chrono::milliseconds systemd_interval{10'000};  // between two words on how it is; 0: none
};

struct HttpConfig {
  int line = 0;
  std::optional<base::SocketAddress> listen;  // always there in a Config that was read
  std::string listen_place;                   // FILE:LINE of it; "" where there is no file
  std::string pool;                           // "": the only one
  std::vector<std::string> trusted_proxies;   // addresses and networks
  std::optional<Credentials> run_as;          // nothing: as the pool's user
  std::string user;                           // as written
  std::string group;
  ProcessSettings process;
  std::shared_ptr<CarriedOptions> carried;  // null: there are no such words
};

struct AccessLogConfig {
  std::string path;  // "": none
  base::AccessFormat format = base::AccessFormat::usual();
  std::vector<std::string> suppress_paths;
};

struct PoolConfig {
  std::string name;
  int line = 0;
  std::string user;  // as written
  std::string group;
  std::optional<Credentials> run_as;          // nothing: as the master's user
  std::optional<base::SocketAddress> listen;  // always there in a Config that was read
  std::string listen_place;                   // FILE:LINE of it; "" where there is no file
  base::ListenOptions listen_options;
  std::string listen_owner;  // as written
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
  bool status_all = false;  // pm.status_all: it shows the other pools, too
  std::string ping_path;    // "": no page
  std::string ping_response = "pong";
  std::optional<base::SocketAddress> status_listen;  // pm.status_listen
  std::string status_listen_place;
  std::filesystem::path repository;         // one file, or
  std::filesystem::path repositories;       // a folder of them
  std::shared_ptr<CarriedOptions> carried;  // null: there are no such words
};

/// A section whose words are all others': the master only carries them.
struct CarriedSection {
  std::string name;
  std::string place;  // FILE:LINE
  std::shared_ptr<CarriedOptions> carried;
};

struct Config {
  GlobalConfig global;
  std::optional<HttpConfig> http;
  std::vector<PoolConfig> pools;
  std::vector<CarriedSection> carried;

  /// The pool behind the HTTP front; there is one in a Config that was read.
  const PoolConfig& pool_of_http() const;
};

/// CONFIG as one file that reads as the same again: every directive of every section, also those
/// that were never written. What has no value stands in a comment.
std::string dump(const Config& config);

/// Whether the file PATH begins as SQLite's files do; true where it may not be read.
bool looks_like_repository(const std::filesystem::path& path);

/// A configuration, or all that is wrong with it, one "FILE:LINE: …" each.
struct ConfigReading {
  Config config;  // only to be used when there is no mistake
  std::vector<std::string> mistakes;
  /// What will not happen as written, for want of root mostly. No mistakes.
  std::vector<std::string> notices;
};

struct ReadingOptions {
  /// Whether the master will be root, which then has to know whom its children become.
  bool running_as_root = false;
  /// An absolute folder that paths without a slash in front are relative to; "": there are none.
  std::filesystem::path prefix{};
  /// Make what a section's further words go into: those that workers, or the HTTP front, give a
  /// meaning to. May be empty.
  std::function<std::shared_ptr<CarriedOptions>()> pool_options{};
  std::function<std::shared_ptr<CarriedOptions>()> http_options{};
  /// Makes what all words of the section called NAME go into; null: it is a pool. May be empty.
  std::function<std::shared_ptr<CarriedOptions>(const std::string& name)> carried_section{};
  /// Reads such sections alone, and passes all others over.
  bool carried_sections_alone = false;
};

/// Reads PATH.
ConfigReading read_config(const std::filesystem::path& path, const ReadingOptions& options = {});
/// The same from TEXT; PATH is for the messages.
ConfigReading parse_config(std::string_view text, const std::string& path,
                           const ReadingOptions& options = {});

}  // namespace quarry::master
