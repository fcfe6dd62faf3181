// Describes the services that the master runs and what their children receive.
//
// A child that is a function is forked without exec. It runs as its service's user, holds only its
// service's listening socket and board and its own control channel, and exits with _exit(2), so
// that none of the master's destructors run in it. Initially SIGINT and SIGHUP are ignored (the
// master handles them), SIGUSR1 is blocked (base/log.h), and SIGTERM and SIGQUIT end the child
// until it installs its own handlers.
//
// A child that is a program is independent of the master. It has no board, and it has a channel (as
// its standard input) only if it runs on request. It receives its service's listening socket, if
// any, by the protocol of sd_listen_fds(3); the socket is non-blocking and shared with the master.
// SIGTERM ends it. SIGINT, SIGHUP and SIGUSR1 (reopen logs) are ignored until it handles them.
#pragma once

#include <csignal>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "quarry/base/result.h"
#include "quarry/control/channel.h"
#include "quarry/master/config.h"
#include "quarry/master/credentials.h"
#include "quarry/master/listener.h"
#include "quarry/master/process_manager.h"
#include "quarry/master/process_settings.h"
#include "quarry/scoreboard/scoreboard.h"
#include "quarry/scoreboard/snapshot.h"

namespace quarry::master {

/// Roles of services, in the order in which they are stopped: each kind passes work to later kinds,
/// so it has to end before them.
enum class ServiceKind {
  kFront,     // passes requests to pools
  kPool,      // workers: they count towards process.max and have a status
  kObserver,  // shows a pool's status; stopped together with the pools
  kJob,       // runs jobs that workers request
  kReceiver,  // accepts work that the others have deferred
};

/// What a child receives. All of it is in the child's copy of the master's memory.
struct ChildContext {
  std::size_t index = 0;  // index of its slot
  int listener = -1;      // -1: none
  scoreboard::Board* board = nullptr;
  scoreboard::Slot slot;
  control::Channel* control = nullptr;
  /// In an ondemand pool, the child writes its pid to this descriptor each time that accept()
  /// returns, with or without a connection, so that the master watches the listening socket again.
  /// Never blocks. -1 in other pools.
  int child_accept = -1;
  /// The board of the observed service, read-only unless Service::writes_observed; null if no
  /// service is observed.
  const scoreboard::Board* observed = nullptr;
};

/// A program to execute without a shell, with ARGUMENTS as its argv. PATH is resolved at each
/// start, so an upgraded file takes effect.
struct Program {
  std::filesystem::path path;
  std::vector<std::string> arguments;
};

/// A job that the master requests itself: first at startup if at_start is set, otherwise after
/// EVERY. It is repeated each time that EVERY has passed, or at the time that its child asks for
/// (Verb::kAgain).
struct OfItself {
  std::uint32_t number = 0;
  std::chrono::seconds every{0};
  bool at_start = false;
};

/// A service that runs one child per request. A child of another service requests it with a number.
struct OnRequest {
  control::Verb verb;
  /// Returns the program to run when the service FROM requests NUMBER, or nullopt if the number is
  /// unknown or FROM may not request it. It is called often, in the master, so it must be cheap.
  std::function<std::optional<Program>(const std::string& from, std::uint32_t number)> program_for;
  /// The services whose children may request jobs.
  std::vector<std::string> from = {};
  /// Limit on paused jobs (control::Verb::kPause). Running jobs do not count.
  std::size_t max_paused = 0;
  /// Jobs that the master requests itself.
  std::vector<OfItself> of_itself = {};
};

/// Figures of a service that is not a pool, for the status.
struct ServiceFigures {
  std::string name;   // name of the group of figures
  std::string about;  // description; may be empty
  std::vector<std::pair<std::string, std::uint64_t>> numbers;
};

struct Service {
  std::string name;  // as in the log, such as "pool www"
  std::string pool;  // the pool's name, if kind is kPool
  ServiceKind kind = ServiceKind::kPool;
  ProcessLimits processes;
  Listener listener;
  std::optional<Credentials> run_as;  // nullopt: the master's user
  ProcessSettings process;
  /// The name of another service, whose board the children read. If writes_observed is set, they
  /// also write to it.
  std::string observes;
  bool writes_observed = false;
  std::chrono::milliseconds request_terminate_timeout{0};  // 0: none
  /// Whether the timeout also applies while the reply is being sent.
  bool terminate_track_finished = false;
  SlowLogConfig slow_log;
  /// Descriptors that children keep in addition to the standard ones, the listener, the board and
  /// the channel. Not used for programs.
  std::vector<int> kept_descriptors;
  /// Runs in the child and returns its exit code. Exactly one of `run`, `program` and `on_request`
  /// is set.
  std::function<int(ChildContext&)> run;
  std::optional<Program> program;
  std::optional<OnRequest> on_request;
  /// Timeout for a run, or for a pause, of an on_request child; 0: none.
  std::chrono::milliseconds longest_run{0};
  /// After a reload, children start only when those of the previous generation have ended, because
  /// they need a resource that only one process may hold. If false, both generations serve side by
  /// side.
  bool starts_alone = false;
  /// After a reload, its previous children are asked to end only when those of all other services
  /// have ended, because the others pass work to it.
  bool ends_last = false;
  /// Reopens the service's own logs in the master, before its children receive SIGUSR1. May be
  /// empty. Errors: kIo; in that case logging continues to the old file.
  std::function<base::Result<void>()> reopen_logs;
  /// Called in the master for each status request; it must be cheap. May be empty.
  std::function<ServiceFigures()> figures;
  /// For kPool: called in the master once a second with a snapshot of the pool. May be empty.
  std::function<void(const scoreboard::PoolSnapshot&)> on_snapshot;
  /// Called in the master for each message from a child that is not a job request for any service.
  /// The messages are not trusted. May be empty.
  std::function<void(const control::Message&)> on_message;

  bool is_program() const { return program || on_request; }
  /// Returns the signal that asks a child to finish its work and exit.
  int quit_signal() const { return is_program() ? SIGTERM : SIGQUIT; }
};

}  // namespace quarry::master
