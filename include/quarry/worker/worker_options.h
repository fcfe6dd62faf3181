// Settings of a worker.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "quarry/base/access_log.h"
#include "quarry/base/result.h"
#include "quarry/base/socket.h"
#include "quarry/changes/options.h"
#include "quarry/pages/figures.h"
#include "quarry/pages/options.h"
#include "quarry/pages/server_view.h"
#include "quarry/repository/repository.h"
#include "quarry/sync/request.h"

namespace quarry::worker {

/// Pages about the pool itself. An empty path disables a page.
struct StatusOptions {
  std::string pool;  // name of the pool, shown on the page
  std::string status_path;
  std::string ping_path;
  std::string ping_response = "pong";
  /// Counters of the pool's web pages, or null if the pool does not serve pages.
  std::shared_ptr<const pages::Figures> pages = nullptr;
  /// Sources of the figures on the operator's page that the pool's own scoreboard does not contain.
  /// If `sources.pools` is empty, the page of all pools does not exist.
  pages::ServerSources sources = {};
  /// The state of quarry-replica (control/replica_state.h). Empty if the pool is not replicated.
  std::filesystem::path replica_state = {};
};

/// Limits per client and per repository; 0: no limit.
struct AdmissionOptions {
  std::uint64_t max_concurrent = 0;              // concurrent sync sessions per repository
  std::uint64_t max_concurrent_per_address = 0;  // concurrent sync sessions per address
  std::uint64_t login_failures = 5;              // failures before a login is delayed
};

/// The result of BackgroundOptions::check.
struct BackgroundCheck {
  bool is_wanted = false;
  /// Work is never due before this time (seconds since 1970), regardless of requests.
  std::int64_t quiet_until = 0;
};

/// Options of the backoffice, which does background work on repositories.
struct BackgroundOptions {
  bool is_enabled = true;
  std::chrono::milliseconds lease_time{60'000};   // time between the starts of two runs
  std::chrono::milliseconds interval{3'600'000};  // time between periodic runs
  std::chrono::milliseconds longest_run{600'000};
  bool compacts = false;  // store old versions as deltas
  std::string log;        // path of a file that gets a line for each run; may be empty
  /// The allowed values of a repository's email-send-method setting.
  std::vector<std::string> mail_methods{"relay", "pipe", "dir", "db"};
  std::uint64_t max_children = 4;    // concurrent runs
  std::uint64_t max_sleepers = 100;  // limit on children that wait until their run is due
  /// Returns whether work is due. Called after a request; does not write. If the function is empty,
  /// work is never due.
  std::function<Result<BackgroundCheck>(repository::Repository&)> check = {};
};

/// Maps the name of each repository ("": the pool's only repository) to the numbers of the peers to
/// which it pushes. The master assigns these numbers.
using PeerNumbers = std::map<std::string, std::vector<std::uint32_t>, std::less<>>;

/// How changes of the pool's repositories reach other hosts (control/publication.h).
struct ReplicationOptions {
  std::string socket;     // of quarry-replica; "": the repositories are not replicated
  std::string host = {};  // name of this host
  std::filesystem::path state_file = {};  // see control/replica_state.h
  /// Whether a push succeeds only if other hosts have confirmed it in time.
  bool waits = true;
  std::chrono::milliseconds time_out{10'000};
};

struct WorkerOptions {
  std::string pool;
  /// Exactly one of the members is set: `repository`, a file that is served under any path, or
  /// `repositories`, a folder with NAME.fossil files.
  std::filesystem::path repository;
  std::filesystem::path repositories;
  /// Maximum number of repositories kept open.
  std::size_t cache = 8;
  repository::OpenOptions open;
  sync::SessionOptions session;
  AdmissionOptions admission;
  BackgroundOptions background;
  /// Whether events are delivered to the webhooks that the repositories contain, and the receivers
  /// that are allowed even if their addresses are not public (entries of courier::AddressRules).
  bool has_repository_webhooks = false;
  std::vector<std::string> webhooks_allow;
  PeerNumbers peers;
  ReplicationOptions replication;
  changes::PoolOptions changes;
  pages::Options pages;
  /// The socket over which connections are passed to the pages process (base/passed_connections.h).
  /// -1: the pool does not serve pages.
  int pages_passing = -1;
  /// Whether the folder itself has a page, which lists the repositories that anonymous visitors can
  /// read.
  bool has_index = false;
  /// Whether to accept the user that the web server has authenticated (REMOTE_USER).
  bool trust_remote_user = false;
  /// Maximum size of a request's body on the wire, in bytes. A larger body is refused with status
  /// 413 before it is read.
  std::size_t max_body = std::size_t{512} << 20;
  /// Timeouts for a web server that stalls in a request or a reply.
  std::chrono::milliseconds head_timeout{5'000};  // until all parameters have been received
  std::chrono::milliseconds read_timeout{60'000};
  /// Number of requests after which the worker exits and the master starts a new one; 0: no limit.
  std::size_t max_requests = 0;
  /// Addresses that are allowed to connect to a TCP socket. If the list is empty, only this machine
  /// is allowed to connect.
  std::vector<base::SocketAddress> allowed_clients;
  /// The access log, or null. The master opens and reopens the log; each worker has a copy.
  std::shared_ptr<base::AccessLog> access_log;
  StatusOptions status;
};

}  // namespace quarry::worker
