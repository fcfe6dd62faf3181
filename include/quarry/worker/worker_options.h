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

/// Pages about the pool itself. An empty path disables the page.
struct StatusOptions {
  std::string pool;  // name of the pool, shown on the page
  std::string status_path;
  std::string ping_path;
  std::string ping_response = "pong";
  /// Counters of the pool's web pages, or null if it has none.
  std::shared_ptr<const pages::Figures> pages = nullptr;
  /// Sources of the figures on the operator's page that are not the pool's own. Without `pools`,
  /// there is no page of all pools.
  pages::ServerSources sources = {};
};

/// Limits per client and per repository; 0: no limit.
struct AdmissionOptions {
  std::uint64_t max_concurrent = 0;              // concurrent sync sessions per repository
  std::uint64_t max_concurrent_per_address = 0;  // concurrent sync sessions per address
  std::uint64_t login_failures = 5;              // failures before a login is delayed
};

/// The result of a check whether a repository's background work is due.
struct BackgroundCheck {
  bool is_wanted = false;
  /// The work is not due before this time, in seconds since 1970, whatever is requested.
  std::int64_t quiet_until = 0;
};

/// Options of the backoffice, which does the work on a repository that no client waits for.
struct BackgroundOptions {
  bool is_enabled = true;
  std::chrono::milliseconds lease_time{60'000};   // between the starts of two runs
  std::chrono::milliseconds interval{3'600'000};  // between runs that no request triggers
  std::chrono::milliseconds longest_run{600'000};
  bool compacts = false;             // store old versions as deltas
  std::uint64_t max_children = 4;    // concurrent runs
  std::uint64_t max_sleepers = 100;  // further children, which wait until their run is due
  /// Checks after a request, without writing, whether work is due. If it is empty, work is never
  /// due.
  std::function<base::Result<BackgroundCheck>(repository::Repository&)> check = {};
};

/// Maps the name of each repository ("": the pool's only one) to the numbers of its push peers. The
/// master assigns these numbers.
using PeerNumbers = std::map<std::string, std::vector<std::uint32_t>, std::less<>>;

struct WorkerOptions {
  std::string pool;
  /// Exactly one is set: a file that is served under any path, or a folder with NAME.fossil files.
  std::filesystem::path repository;
  std::filesystem::path repositories;
  /// Maximum number of repositories kept open.
  std::size_t cache = 8;
  repository::OpenOptions open;
  sync::SessionOptions session;
  AdmissionOptions admission;
  BackgroundOptions background;
  PeerNumbers peers;
  changes::PoolOptions changes;
  pages::Options pages;
  /// The socket on which connections are passed to the pages process (base/passed_connections.h),
  /// or -1 if there is none.
  int pages_passing = -1;
  /// Whether the folder itself has a page that lists the repositories that everybody may read.
  bool has_index = false;
  /// Whether to trust the user that the web server has authenticated (REMOTE_USER).
  bool trust_remote_user = false;
  /// Maximum size of a request's body as transferred, in bytes. A larger one gets a 413 before it
  /// is read.
  std::size_t max_body = std::size_t{512} << 20;
  /// Timeouts for a web server that stalls while it sends a request or reads a reply.
  std::chrono::milliseconds head_timeout{5'000};  // until all parameters have arrived
  std::chrono::milliseconds read_timeout{60'000};
  /// The worker exits after this many requests, and the master starts a new one; 0: no limit.
  std::size_t max_requests = 0;
  /// Addresses that may connect to a TCP socket. If it is empty, only this machine may connect.
  std::vector<base::SocketAddress> allowed_clients;
  /// The access log, or null if there is none. The master opens and reopens it; each worker has its
  /// own copy.
  std::shared_ptr<base::AccessLog> access_log;
  StatusOptions status;
};

}  // namespace quarry::worker
