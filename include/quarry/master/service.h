// Describes the services that the master runs, and the resources of their children.
//
// A child that runs a function is forked without exec. Such a child runs as its service's user. It
// holds only the listening socket and the board of its service, and its own control channel. It
// exits with _exit(2), which does not run the master's destructors. Initially, SIGINT and SIGHUP
// are ignored (the master handles them), and SIGUSR1 is blocked (base/log.h). SIGTERM and SIGQUIT
// end the child until it installs its own handlers.
//
// A child that executes a program does not have a board. If its service has a listening socket, the
// child receives the socket by the protocol of sd_listen_fds(3). The socket is non-blocking and
// shared with the master. Only programs of `on_request` services have a control channel, as their
// standard input. SIGTERM ends the child. SIGINT, SIGHUP and SIGUSR1 (reopen logs) are ignored
// unless the program handles them.
#pragma once

#include <csignal>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "quarry/base/access_log.h"
#include "quarry/base/result.h"
#include "quarry/control/channel.h"
#include "quarry/master/config.h"
#include "quarry/master/credentials.h"
#include "quarry/master/listener.h"
#include "quarry/master/process_manager.h"
#include "quarry/master/process_settings.h"
#include "quarry/scoreboard/overview.h"
#include "quarry/scoreboard/scoreboard.h"
#include "quarry/scoreboard/snapshot.h"

namespace quarry::master {

/// Roles of services. Services are stopped in this order, because each kind passes work to later
/// kinds.
enum class ServiceKind {
  kFront,     // passes requests to pools
  kPool,      // workers; they count towards process.max and have a status
  kObserver,  // shows a pool's status; stopped together with the pools
  kJob,       // runs jobs that workers request
  kReceiver,  // accepts data from other services, such as events
};

/// The resources of a child, in the child's copy of the master's memory.
struct ChildContext {
  std::size_t index = 0;  // index of the child's slot
  int listener = -1;      // -1: none
  scoreboard::Board* board = nullptr;
  scoreboard::Slot slot;
  control::Channel* control = nullptr;
  /// In an ondemand pool, the child writes its pid to this descriptor each time that accept()
  /// returns, with or without a connection. After this message, the master watches the listening
  /// socket again. Writing never blocks. -1 in other pools.
  int child_accept = -1;
  /// The board of the observed service. The board is read-only unless Service::writes_observed is
  /// set. Null if the service does not observe another service.
  const scoreboard::Board* observed = nullptr;
};

/// A program and its argv, ARGUMENTS, to execute without a shell. PATH is resolved at each start,
/// so an upgraded file takes effect.
struct Program {
  std::filesystem::path path;
  std::vector<std::string> arguments;
};

/// A job that the master requests itself. The first request is at startup if at_start is set,
/// otherwise after EVERY. Later requests follow at intervals of EVERY, or at the time that the
/// child requests (Verb::kAgain).
struct OfItself {
  std::uint32_t number = 0;
  std::chrono::seconds every{0};
  bool at_start = false;
};

/// A service that runs one child per request. To request a run, a child of another service sends a
/// number.
struct OnRequest {
  control::Verb verb;
  /// Returns the program to run when the service FROM requests NUMBER. Returns nullopt if the
  /// number is unknown or not allowed for FROM. The master calls this function often, so the
  /// function must be fast.
  std::function<std::optional<Program>(const std::string& from, std::uint32_t number)> program_for;
  /// The services whose children are allowed to request jobs.
  std::vector<std::string> from = {};
  /// Limit on paused jobs (control::Verb::kPause). Running jobs do not count.
  std::size_t max_paused = 0;
  /// Jobs that the master requests itself.
  std::vector<OfItself> of_itself = {};
};

/// Figures about a service other than a pool, for the status.
struct ServiceFigures {
  std::string name;   // name of the group of figures
  std::string about;  // description; can be empty
  std::vector<std::pair<std::string, std::uint64_t>> numbers;
};

/// Memory that a reload passes on, such as the counters of all generations of a service.
struct KeptMemory {
  std::string name;  // unique in the server
  int fd = -1;
  std::uint64_t layout = 0;  // version of the layout
};

struct Service {
  std::string name;  // as in the log, such as "pool www"
  std::string pool;  // the pool's name, if kind is kPool
  ServiceKind kind = ServiceKind::kPool;
  ProcessLimits processes;
  Listener listener;
  /// Additional listening sockets of children that run a function.
  std::vector<Listener> more_listeners = {};
  std::optional<Credentials> run_as;  // nullopt: the master's user
  ProcessSettings process;
  /// The name of another service, whose board the children can read. If writes_observed is set, the
  /// children can also write to the board.
  std::string observes;
  bool writes_observed = false;
  std::chrono::milliseconds request_terminate_timeout{0};  // 0: none
  /// Whether the timeout also applies while the worker sends the reply.
  bool terminate_track_finished = false;
  SlowLogConfig slow_log;
  /// Additional descriptors that children keep open. Not used for programs.
  std::vector<int> kept_descriptors;
  /// Memory that a reload passes on (InheritedMemory).
  std::vector<KeptMemory> kept_memories = {};
  /// Runs in the child and returns its exit code. Exactly one of `run`, `program` and `on_request`
  /// is set.
  std::function<int(ChildContext&)> run;
  std::optional<Program> program;
  std::optional<OnRequest> on_request;
  /// Whether `program` requests jobs of other services. It then has a control channel
  /// (control::Channel::of_standard_input).
  bool requests_jobs = false;
  /// Time limit for each run and each pause of an on_request child; 0: none.
  std::chrono::milliseconds longest_run{0};
  /// Whether, after a reload, new children wait until the previous generation has exited. Set this
  /// if the children need a resource that only one process can hold. If false, both generations run
  /// at the same time.
  bool starts_alone = false;
  /// Whether a reload ends the previous children of this service last. Set this if the previous
  /// children of other services still pass work to these children.
  bool ends_last = false;
  /// Whether the children of the previous generation end when their work is done, without a time
  /// limit. If false, they are terminated after process_control_timeout.
  bool ends_by_itself = false;
  /// Whether children write to the master's standard error instead of /dev/null.
  bool keeps_standard_error = false;
  /// The access log to which the children write; null if they write to the error log only. At
  /// SIGUSR1, the master reopens the error log and the access log, and sends them to the children
  /// (control/reopened_logs.h).
  std::shared_ptr<base::AccessLog> access_log;
  /// Returns figures for the status. The master calls this function each time that the status is
  /// requested, so the function must be fast. Optional.
  std::function<ServiceFigures()> figures;
  /// For kPool: called in the master once a second with a snapshot of the pool. Optional.
  std::function<void(const scoreboard::PoolSnapshot&)> on_snapshot;
  /// For services with on_request: called in the master once a second with the figures of the jobs.
  /// Optional.
  std::function<void(const scoreboard::JobFigures&)> on_jobs;
  /// Called in the master for each message of a child, except job requests. JOB is the number of
  /// the child's job, or 0. The messages are not trusted. Optional.
  std::function<void(std::uint32_t job, const control::Message&)> on_message;

  bool is_program() const { return program || on_request; }
  /// Returns the signal with which the master stops a child gracefully.
  int quit_signal() const { return is_program() && !ends_by_itself ? SIGTERM : SIGQUIT; }
};

}  // namespace quarry::master
