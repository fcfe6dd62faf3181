// The process quarry-replica: publishes the changes of this host's repositories to the stream of the
// group, and applies the entries of other hosts.
//
//   publishing   some threads. A repository is published when a worker asks for it (control/
//                publication.h), and when its file has changed (the files are checked once a second)
//   applying     one thread, which reads the stream and applies entries in batches, one transaction
//                for each repository and batch
//   comparing    one thread, which compares the repositories with those of the other hosts
//
// A repository that is found for the first time is prepared, which takes some milliseconds. The
// repositories that workers ask for come first.
//
// The position in the stream is in each repository (sync/replication.h) and, for the start, in the
// file `position` of the folder. The file `repositories` records the state of all files, so the start
// opens only those that have changed.
#pragma once

#include <chrono>
#include <filesystem>
#include <functional>
#include <limits>
#include <string>
#include <vector>

#include "quarry/base/fd.h"
#include "quarry/base/result.h"
#include "quarry/base/time.h"
#include "quarry/replica/stream.h"
#include "quarry/repository/repository.h"

namespace quarry::replica {

/// A pool whose repositories are replicated.
struct ReplicatedPool {
  std::string name;
  std::filesystem::path path;  // a repository, or a folder of repositories
  bool is_folder = false;
};

struct ReplicaOptions {
  StreamOptions stream;
  std::vector<ReplicatedPool> pools;
  std::filesystem::path folder;  // state of this process
  /// Whether workers wait until a quorum of servers has stored a push (`acknowledge = quorum`). Only
  /// for the status.
  bool waits_for_quorum = true;
  std::chrono::milliseconds acknowledge_timeout{10000};
  /// How often the hosts compare their repositories.
  std::chrono::milliseconds compare_interval{10000};
  /// See sync::Replication::prepare(). run() sets it to a minute before the start, because workers can
  /// receive pushes before this process has started.
  base::UnixMillis since = {std::numeric_limits<std::int64_t>::max() / 2};
  repository::OpenOptions open = {};
};

/// Blocks the signals that run() waits for, and ignores SIGPIPE. Call it before any thread is started.
void hold_signals();
/// Runs until SIGTERM or SIGINT, and then disconnects clients that still wait for an answer.
/// LISTENER is a non-blocking Unix socket. REOPEN_LOGS is called at SIGUSR1. Errors: kIo (the
/// folder cannot be written).
Result<void> run(const ReplicaOptions& options, Stream& stream, base::Fd listener,
                 const std::function<void()>& reopen_logs);

}  // namespace quarry::replica
