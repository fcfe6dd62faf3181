// What the master runs: services, and what their children are given.
//
// A child that is a function is forked without exec. It runs as its service's user, holds only its
// service's listening socket, board and its control channel, and leaves by _exit(2): nothing of the
// master's is destroyed in it. It begins with signals at rest: SIGINT and SIGHUP ignored (they are
// the master's), SIGUSR1 held back (base/log.h), SIGTERM and SIGQUIT ending it until it installs
// handlers of its own.
//
// A child that is a program knows nothing of the master: it has no board, and a channel (as its
// standard input) only where it runs on request. It finds its service's listening socket, where there is one, as sd_listen_fds(3) says (it does not block,
// and is the master's, too). It ends on SIGTERM, and has SIGINT, SIGHUP and SIGUSR1 (which asks to
// open logs anew) ignored until it handles them.
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

/// What a service is to the others, in the order in which they are stopped: each when those before
/// it have ended, since it is what they hand their work to.
enum class ServiceKind {
  kFront,     // its requests are answered by the pools behind it
  kPool,      // workers: they count for process.max, and have a status
  kObserver,  // shows a pool's status; is stopped with the pools
  kJob,       // what was asked for by workers
  kReceiver,  // takes over what all others want to have done later
};

/// What a child is given. Everything belongs to the master's memory, of which the child has a copy.
struct ChildContext {
  std::size_t index = 0;  // of its slot
  int listener = -1;      // -1: none
  scoreboard::Board* board = nullptr;
  scoreboard::Slot slot;
  control::Channel* control = nullptr;
  /// Of an ondemand pool: where a child writes its pid each time that it has returned from
  /// accept(), with a connection or without, so that the master watches the listening socket again.
  /// Never blocks. -1: nobody wants to know.
  int child_accept = -1;
  /// The board of the service that this one observes, to be read only unless it says otherwise. Null
  /// where that is none.
  const scoreboard::Board* observed = nullptr;
};

/// To be executed, as the first of ARGUMENTS is called; no shell has a look at it. Found where PATH
/// says, when it is started: a new version is what is started next.
struct Program {
  std::filesystem::path path;
  std::vector<std::string> arguments;
};

/// A number that the master itself asks for: the first time when it begins, or when EVERY has passed,
/// and then each time that EVERY has passed, or when its child wanted to run again (Verb::kAgain).
struct OfItself {
  std::uint32_t number = 0;
  std::chrono::seconds every{0};
  bool at_start = false;
};

/// A service whose children run once, each for a number that a child of another service asks for.
struct OnRequest {
  control::Verb verb;
  /// What is executed for NUMBER where the service called FROM asks; nothing: FROM may not ask for
  /// it, or the master knows nothing under it. Called in the master, and often: it must be cheap.
  std::function<std::optional<Program>(const std::string& from, std::uint32_t number)> program_for;
  /// The services whose children may ask.
  std::vector<std::string> from = {};
  /// How many may wait for their time (control::Verb::kPause) beside those that run.
  std::size_t most_paused = 0;
  /// What the master asks for, in the service's own name.
  std::vector<OfItself> of_itself = {};
};

/// What a service that is no pool tells of itself, for the status.
struct ServiceFigures {
  std::string name;   // what they are called together
  std::string about;  // in words, "" for nothing
  std::vector<std::pair<std::string, std::uint64_t>> numbers;
};

struct Service {
  std::string name;  // as in the log: "pool www"
  std::string pool;  // of kPool: the pool's name
  ServiceKind kind = ServiceKind::kPool;
  ProcessLimits processes;
  Listener listener;
  std::optional<Credentials> run_as;  // nothing: as the master
  ProcessSettings process;
  /// The name of another service, whose board the children read; or, if so, also write to.
  std::string observes;
  bool writes_observed = false;
  std::chrono::milliseconds request_terminate_timeout{0};  // 0: none
  /// Whether that counts, too, while the answer is being sent.
  bool terminate_track_finished = false;
  SlowLogConfig slow_log;
  /// Descriptors that the children keep beside the standard ones, their listener, board and
  /// channel. Not those that are programs.
  std::vector<int> kept_descriptors;
  /// What a child does; its result is the child's exit code. Or else:
  std::function<int(ChildContext&)> run;
  std::optional<Program> program;
  std::optional<OnRequest> on_request;
  /// Of on_request: how long a child may run, or pause, before it is ended; 0: as long as it likes.
  std::chrono::milliseconds longest_run{0};
  /// After a reload children are started only when those of the generation before have ended: there
  /// is something that only one may hold. Otherwise both serve side by side for a while.
  bool starts_alone = false;
  /// After a reload its children are asked to end when those of the others before it have ended, who
  /// pass their work on to it.
  bool ends_last = false;
  /// Opens the service's own logs anew, in the master, before children that live are told to (by
  /// SIGUSR1). May be empty. Errors: kIo; the log goes on as it was.
  std::function<base::Result<void>()> reopen_logs;
  /// May be empty. Called in the master for each question; it must be cheap.
  std::function<ServiceFigures()> figures;
  /// Of kPool. May be empty. Called in the master once a second with what there is to see of the pool.
  std::function<void(const scoreboard::PoolSnapshot&)> on_snapshot;
  /// What a child says over its channel that is no service's on_request. May be empty. Runs in the
  /// master: trust nothing in it.
  std::function<void(const control::Message&)> on_message;

  bool is_program() const { return program || on_request; }
  /// The signal that asks a child to end what it has begun, and then itself.
  int quit_signal() const { return is_program() ? SIGTERM : SIGQUIT; }
};

}  // namespace quarry::master
