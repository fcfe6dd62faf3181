// The master process: starts the children of each service, replaces them when they die, and stops
// them. It knows that it runs children, not what they do: each service brings a function, or names
// a program.
//
// Signals: SIGTERM and SIGINT stop at once; SIGQUIT stops gracefully: the fronts end the requests
// they have, then the pools, and so on in the order of ServiceKind, all within
// process_control_timeout. SIGUSR2 and SIGHUP reload: the
// program is executed again in the same process, takes over the listening sockets and starts new
// children, beside which the old ones finish what they have (reload.cc). Children do not outlive
// the master, however it ends.
//
// A child that is a function is forked without exec. It runs as its service's user, holds only its
// service's listening socket, board and its control channel, and leaves by _exit(2): nothing of the
// master's is destroyed in it. It begins with signals at rest: SIGINT and SIGHUP ignored (they are
// the master's), SIGUSR1 held back (base/log.h), SIGTERM and SIGQUIT ending it until it installs
// handlers of its own.
//
// A child that is a program knows nothing of the master: it has neither board nor channel. It finds
// its service's listening socket, where there is one, as sd_listen_fds(3) says, ends on SIGTERM, and
// has SIGINT, SIGHUP and SIGUSR1 (which asks to open logs anew) ignored until it handles them.
#pragma once

#include <csignal>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "quarry/base/fd.h"
#include "quarry/base/result.h"
#include "quarry/base/socket.h"
#include "quarry/control/channel.h"
#include "quarry/master/config.h"
#include "quarry/master/credentials.h"
#include "quarry/master/handover.h"
#include "quarry/master/process_manager.h"
#include "quarry/master/process_settings.h"
#include "quarry/scoreboard/scoreboard.h"

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
  /// The board of the service that this one observes, to be read only. Null where that is none.
  const scoreboard::Board* observed = nullptr;
};

/// A listening socket and, for a Unix socket, its path, which is removed with it (unless somebody
/// else has put another socket there).
class Listener {
 public:
  /// The socket for ADDRESS: one of INHERITED, which loses it, or a new one. OPTIONS are put in
  /// force on both.
  static base::Result<Listener> open(const base::SocketAddress& address,
                                     const base::ListenOptions& options = {},
                                     std::vector<InheritedSocket>* inherited = nullptr);
  Listener() = default;
  Listener(Listener&& other) noexcept;
  Listener& operator=(Listener&& other) noexcept;
  ~Listener();
  int fd() const { return fd_.get(); }
  /// Whether its path is removed with it: not where a service manager opened it.
  bool is_ours() const { return is_ours_; }
  /// Of a Unix socket that is ours and still where it was bound.
  const std::optional<base::SocketFile>& file() const { return file_; }
  /// As it was asked for; "" for none.
  const std::string& asked_for() const { return asked_for_; }
  /// Where it really is: with its port, where the configuration left that open.
  const std::optional<base::SocketAddress>& address() const { return address_; }

 private:
  base::Fd fd_;
  std::string asked_for_;
  bool is_ours_ = true;
  std::optional<base::SocketAddress> address_;
  std::optional<base::SocketFile> file_;  // nothing: there is no file to remove
};

/// To be executed, as the first of ARGUMENTS is called; no shell has a look at it. Found where PATH
/// says, when it is started: a new version is what is started next.
struct Program {
  std::filesystem::path path;
  std::vector<std::string> arguments;
};

/// A service whose children run once, each for a number that a child of another service asks for.
struct OnRequest {
  control::Verb verb;
  /// What is executed for NUMBER where the service called FROM asks; nothing: FROM may not ask for
  /// it, or the master knows nothing under it. Called in the master, and often: it must be cheap.
  std::function<std::optional<Program>(const std::string& from, std::uint32_t number)> program_for;
};

struct Service {
  std::string name;  // as in the log: "pool www"
  std::string pool;  // of kPool: the pool's name
  ServiceKind kind = ServiceKind::kPool;
  ProcessLimits processes;
  Listener listener;
  std::optional<Credentials> run_as;  // nothing: as the master
  ProcessSettings process;
  /// The name of another service, whose board the children read.
  std::string observes;
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
  /// Of on_request: how long a child may run before it is ended; 0: as long as it likes.
  std::chrono::milliseconds longest_run{0};
  /// After a reload children are started only when those of the generation before have ended: there
  /// is something that only one may hold. Otherwise both serve side by side for a while.
  bool starts_alone = false;
  /// Opens the service's own logs anew, in the master, before children that live are told to (by
  /// SIGUSR1). May be empty. Errors: kIo; the log goes on as it was.
  std::function<base::Result<void>()> reopen_logs;
  /// What a child says over its channel that is no service's on_request. May be empty. Runs in the
  /// master: trust nothing in it.
  std::function<void(const control::Message&)> on_message;

  bool is_program() const { return program || on_request; }
  /// The signal that asks a child to end what it has begun, and then itself.
  int quit_signal() const { return is_program() ? SIGTERM : SIGQUIT; }
};

/// How the master becomes a new one, on SIGUSR2 (and SIGHUP).
struct Reload {
  std::filesystem::path program;       // to be executed
  std::vector<std::string> arguments;  // with the name of the program first
  std::map<std::string, std::string> notes;
  bool on_hangup = true;  // otherwise SIGHUP stops
  /// Called once all services have been started. May be empty.
  std::function<void()> on_ready;
  /// Of the master before this one.
  std::uint64_t generation = 1;
  std::vector<Elder> elders;
  std::vector<InheritedBoard> boards;
};

/// How the master is asked how it is (`quarry status`).
struct Control {
  Listener listener;   // of no socket: nobody can ask
  std::string config;  // the file, or what is served without one
};

class Master {
 public:
  Master(GlobalConfig global, std::vector<Service> services, Reload reload = {},
         Control control = {});
  ~Master();
  Master(const Master&) = delete;
  Master& operator=(const Master&) = delete;

  /// Starts everything and returns when all of it has ended. Errors: what kept it from starting.
  base::Result<void> run();

 private:
  class Loop;
  std::unique_ptr<Loop> loop_;
};

}  // namespace quarry::master
