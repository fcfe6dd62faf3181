// What a worker serves, and its bounds.
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

/// The pages about the pool itself; an empty path: there is no such page.
struct StatusOptions {
  std::string pool;  // its name, for the page
  std::string status_path;
  std::string ping_path;
  std::string ping_response = "pong";
  /// Of the pool's web pages; null: it has none.
  std::shared_ptr<const pages::Figures> pages = nullptr;
  /// What the operator's page shows beside the pool's own figures. Without `pools` there is no page
  /// of all pools.
  pages::ServerSources sources = {};
};

/// Bounds on what one client, or all of one repository, may have of a pool; 0: none.
struct AdmissionOptions {
  std::uint64_t max_concurrent = 0;              // sync sessions of one repository at a time
  std::uint64_t max_concurrent_per_address = 0;  // and from one address
  std::uint64_t login_failures = 5;              // that cost no time
};

/// Whether a repository's background work is due.
struct BackgroundCheck {
  bool is_wanted = false;
  /// In seconds since 1970: it will not be before that, whatever is asked of the repository.
  std::int64_t quiet_until = 0;
};

/// What is done for a repository when nobody waits for it: the backoffice.
struct BackgroundOptions {
  bool is_enabled = true;
  std::chrono::milliseconds lease_time{60'000};   // between the beginnings of two runs
  std::chrono::milliseconds interval{3'600'000};  // between runs that nobody's request asks for
  std::chrono::milliseconds longest_run{600'000};
  bool compacts = false;             // old versions become deltas
  std::uint64_t max_children = 4;    // that run at once
  std::uint64_t max_sleepers = 100;  // that wait for their time beside them
  /// Looks, without writing, after a request. Empty: nothing is ever due.
  std::function<base::Result<BackgroundCheck>(repository::Repository&)> check = {};
};

/// What the master calls the peers of the repository NAME ("": the only one of its pool), which want
/// to have what comes.
using PeerNumbers = std::map<std::string, std::vector<std::uint32_t>, std::less<>>;

struct WorkerOptions {
  std::string pool;
  /// One of the two: a file that is served whatever the path, or a folder with NAME.fossil files.
  std::filesystem::path repository;
  std::filesystem::path repositories;
  /// Repositories that are kept open.
  std::size_t cache = 8;
  repository::OpenOptions open;
  sync::SessionOptions session;
  AdmissionOptions admission;
  BackgroundOptions background;
  PeerNumbers peers;
  changes::PoolOptions changes;
  pages::Options pages;
  /// Where connections are passed on to who makes the pages (base/passed_connections.h); -1: to
  /// nobody.
  int pages_passing = -1;
  /// The folder itself has a page that lists the repositories that everybody may read.
  bool has_index = false;
  /// REMOTE_USER names who the web server authenticated.
  bool trust_remote_user = false;
  /// Bytes of a request's body as it travels; over it: 413, before any of it is read.
  std::size_t max_body = std::size_t{512} << 20;
  /// Silence of the web server in the middle of a request, or while it should take a reply.
  std::chrono::milliseconds head_timeout{5'000};  // until all parameters of a request are there
  std::chrono::milliseconds read_timeout{60'000};
  /// After so many requests the worker ends, and the master starts a fresh one; 0: never.
  std::size_t max_requests = 0;
  /// Who may connect to a TCP socket; empty: the machine itself alone.
  std::vector<base::SocketAddress> allowed_clients;
  /// Null: none. Shared with the master, which opened it and opens it anew; a worker has a copy of
  /// its own.
  std::shared_ptr<base::AccessLog> access_log;
  StatusOptions status;
};

}  // namespace quarry::worker
