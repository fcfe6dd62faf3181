// quarryd: the server. The program reads the configuration (or creates one for --serve), binds the
// sockets, and runs the master.
#include <fcntl.h>
#include <fmt/core.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <filesystem>
#include <memory>
#include <optional>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "command_line.h"
#include "compose.h"
#include "configuration.h"
#include "log_service.h"
#include "quarry/base/log.h"
#include "quarry/base/pipe.h"
#include "quarry/base/process_title.h"
#include "quarry/base/service_manager.h"
#include "quarry/base/transfer.h"
#include "quarry/master/config.h"
#include "quarry/master/handover.h"
#include "quarry/master/master.h"
#include "quarry/master/pid_file.h"
#include "quarry/master/process_settings.h"
#include "serve_path.h"
#include "start_check.h"

namespace {

namespace app = quarry::app;
namespace base = quarry::base;
namespace master = quarry::master;

using app::CommandLine;

constexpr int kFailed = 1;
constexpr int kWrongUsage = 2;

constexpr const char* kFolderNote = "serve folder";
constexpr const char* kPidFileNote = "pid file";
constexpr const char* kLogPipesNote = "log pipes";
// The configuration of the running services.
constexpr const char* kConfigurationNote = "configuration";

int failed(const std::string& message) {
  fmt::print(stderr, "quarryd: {}\n", message);
  return kFailed;
}

/// Returns the data with which the master executes this program again. The data includes the state
/// from the previous master.
master::Reload reload_of(const CommandLine& line, std::optional<master::Handover>& handover) {
  master::Reload reload;
  std::error_code error;
  // Read the link now, because its target changes when the file of the program is replaced.
  reload.program = std::filesystem::read_symlink("/proc/self/exe", error);
  reload.arguments = line.words;
  reload.on_hangup = line.serve.empty();
  if (handover) {
    reload.generation = handover->generation;
    reload.previous_children = std::move(handover->previous_children);
    reload.boards = std::move(handover->boards);
    reload.counters = handover->counters;
    reload.notes = handover->notes;
  }
  return reload;
}

/// Adds the sockets from a service manager. Sockets are identified by their addresses.
void add_activated_sockets(std::vector<master::InheritedSocket>& inherited) {
  for (base::Fd& fd : base::activated_sockets()) {
    const auto address = base::local_address(fd);
    if (!address) {
      base::log(base::LogLevel::kWarning, "cannot use a socket passed by the service manager: {}",
                address.error().message);
      continue;
    }
    inherited.push_back({address->str(), std::make_shared<base::Fd>(std::move(fd)), false});
  }
}

/// Blocks SIGUSR1, SIGUSR2 and SIGHUP until the master handles them. These signals can arrive as
/// soon as a socket listens.
void block_signals() {
  sigset_t held;
  ::sigemptyset(&held);
  for (const int number : {SIGUSR1, SIGUSR2, SIGHUP}) ::sigaddset(&held, number);
  ::sigprocmask(SIG_BLOCK, &held, nullptr);
}

/// Returns an error for each address that cannot be bound, or ERROR if all addresses can be bound.
std::vector<std::string> errors_of_composing(const master::Config& config,
                                             const std::vector<std::string>& inheritable,
                                             const quarry::Error& error) {
  auto taken = app::bind_failures(config, inheritable);
  if (taken.empty()) taken.push_back(error.message);
  return taken;
}

void remove_files(const std::vector<master::InheritedSocket>& sockets) {
  for (const master::InheritedSocket& socket : sockets) {
    if (socket.is_ours && socket.address.starts_with('/')) ::unlink(socket.address.c_str());
  }
}

master::ReadingOptions reading_options(const CommandLine& line) {
  master::ReadingOptions options{.running_as_root = ::geteuid() == 0};
  if (!line.prefix.empty()) {
    options.prefix = std::filesystem::absolute(line.prefix).lexically_normal();
  }
  return options;
}

int run(const master::Config& config, const CommandLine& line,
        std::optional<master::Handover>& handover, app::Start start,
        const std::filesystem::path& folder = {}, const std::vector<std::string>& notices = {});

/// Handles ERRORS, which prevent this program from starting. On a first start, prints them. In a
/// reload, a file has changed after the check. The server then continues with the configuration of
/// the previous generation.
int could_not_start(const CommandLine& line, std::optional<master::Handover>& handover,
                    const std::vector<std::string>& errors) {
  const std::string previous =
      handover ? std::exchange(handover->notes[kConfigurationNote], {}) : std::string();
  if (previous.empty()) {
    for (const std::string& each : errors) failed(each);
    return kFailed;
  }
  master::ReadingOptions options = reading_options(line);
  options.is_in_use = true;
  const master::ConfigReading reading =
      app::parse_configuration(previous, "the previous configuration", options);
  if (!reading.mistakes.empty()) return could_not_start(line, handover, reading.mistakes);
  if (const auto log = base::open_log(app::error_log_of(reading.config)); !log) {
    base::log(base::LogLevel::kError, "{}", log.error().message);
  }
  base::log(base::LogLevel::kError,
            "not reloaded: the configuration has become invalid since its check; the server "
            "continues with the previous configuration");
  for (const std::string& each : errors) {
    base::log(base::LogLevel::kError, "  {}", base::printable(each, 1000));
  }
  return run(reading.config, line, handover, app::Start::kContinue);
}

bool goes_to_background(const CommandLine& line, const master::Config& config) {
  return line.daemonize || (config.global.daemonize && !line.in_foreground);
}

/// Forks the server process into a new session, like a traditional daemon. The calling process
/// waits in this function until the server is ready. Then the calling process exits with 0, or with
/// 1 if the server could not start. In the server process, returns the descriptor for
/// detach_from_terminal(). Errors: kIo.
quarry::Result<base::Fd> go_to_background() {
  QUARRY_TRY_ASSIGN(base::Pipe pipe, base::make_pipe());
  const pid_t pid = ::fork();
  if (pid < 0) return quarry::fail_errno("cannot start a process");
  if (pid == 0) {
    if (::setsid() < 0) return quarry::fail_errno("cannot start a session");
    return std::move(pipe.writing);
  }
  pipe.writing.reset();
  char byte = 0;
  const ssize_t size =
      base::without_interruption([&] { return ::read(pipe.reading.get(), &byte, 1); });
  // If the pipe is closed without a byte, the child has failed and has printed the reason.
  ::_exit(size == 1 ? 0 : 1);
}

/// Called when the server is ready. Detaches from the terminal, and ends the process that waits at
/// the other end of WAITING.
void detach_from_terminal(base::Fd waiting) {
  const base::Fd nowhere(::open("/dev/null", O_RDWR | O_CLOEXEC));
  for (const int standard : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
    ::dup2(nowhere.get(), standard);
  }
  const char byte = 0;
  [[maybe_unused]] const auto ignored = ::write(waiting.get(), &byte, 1);
}

int run(const master::Config& config, const CommandLine& line,
        std::optional<master::Handover>& handover, app::Start start,
        const std::filesystem::path& folder, const std::vector<std::string>& notices) {
  // Shared, because std::function requires copyable captures.
  std::shared_ptr<base::Fd> waiting;
  if (goes_to_background(line, config) && !handover) {
    if (const auto ready = app::check_background(config); !ready) {
      return failed(ready.error().message);
    }
    auto background = go_to_background();
    if (!background) return failed(background.error().message);
    waiting = std::make_shared<base::Fd>(std::move(*background));
  }
  const auto logs = app::open_log_pipes(config);
  if (!logs) return could_not_start(line, handover, {logs.error().message});
  const std::string kept_pipes = app::keep_pipes(*logs);
  if (handover) {
    app::close_earlier_pipes(std::exchange(handover->notes[kLogPipesNote], kept_pipes));
  }
  app::EarlierFigures earlier;
  if (handover) earlier = {handover->counters, std::move(handover->memories)};
  auto lost = earlier.take_memory(app::kErrorLogMemory, base::LostLines::kLayout,
                                  config.pools.front().run_as);
  if (auto log = base::open_log(app::error_log_of(config), std::move(lost)); !log) {
    if (start == app::Start::kFirst) return failed(log.error().message);
    base::log(base::LogLevel::kError, "{}; logging to standard error", log.error().message);
  }
  for (const std::string& notice : notices) base::log(base::LogLevel::kNotice, "{}", notice);
  block_signals();
  master::limit_process(config.global.limits, config.global.priority);
  std::vector<master::InheritedSocket> inherited;
  if (handover) inherited = handover->sockets;
  add_activated_sockets(inherited);
  if (!config.global.pid_file.empty()) {
    // The pid file is checked first, because "already running" is clearer than "address in use".
    const auto free = master::check_pid_file(config.global.pid_file, ::getpid());
    if (!free && start == app::Start::kFirst) return failed(free.error().message);
  }
  std::vector<std::string> inheritable(inherited.size());
  std::ranges::transform(inherited, inheritable.begin(), &master::InheritedSocket::address);
  const auto path =
      line.config.empty() ? std::filesystem::path() : std::filesystem::absolute(line.config);
  auto services = app::compose(config, path, start, inherited, earlier, *logs);
  if (handover) handover->memories = std::move(earlier.memories);
  if (!services) {
    return could_not_start(line, handover,
                           errors_of_composing(config, inheritable, services.error()));
  }
  const auto about = std::filesystem::absolute(line.config + line.serve).string();
  base::set_process_title(fmt::format("quarry: master process ({})", about));
  auto control = app::open_control(config, about, inherited);
  if (!control) {
    services->clear();  // close the new sockets
    return could_not_start(line, handover, {control.error().message});
  }
  // Remove the inherited sockets that are not used any more, because their pools were removed.
  remove_files(inherited);
  inherited.clear();
  if (handover) {
    handover->sockets.clear();
    handover->memories.clear();
  }
  master::Reload reload = reload_of(line, handover);
  const std::string old_pid_file =
      std::exchange(reload.notes[kPidFileNote], config.global.pid_file);
  if (!old_pid_file.empty() && old_pid_file != config.global.pid_file) {
    ::unlink(old_pid_file.c_str());
  }
  reload.notes[kLogPipesNote] = kept_pipes;
  reload.notes[kConfigurationNote] = dump(config, /*has_secrets=*/true);
  reload.keeps_programs = start == app::Start::kContinue;
  if (!folder.empty()) reload.notes[kFolderNote] = folder.string();
  if (waiting) reload.on_ready = [waiting] { detach_from_terminal(std::move(*waiting)); };
  for (master::Service& service : *services) {
    service.kept_descriptors.push_back(base::log_descriptor());
  }
  const auto done = master::run_master(config.global, std::move(*services), std::move(reload),
                                       std::move(*control));
  return done ? 0 : failed(done.error().message);
}

app::Start start_of(const std::optional<master::Handover>& handover) {
  return handover ? app::Start::kReload : app::Start::kFirst;
}

/// Returns the conditions for the start check. If a master runs this check before a reload, the
/// environment contains the addresses of the master's sockets.
app::StartConditions conditions_of(const CommandLine& line, const master::Config& config) {
  app::StartConditions start;
  start.in_background = goes_to_background(line, config);
  if (!line.config.empty()) start.config = std::filesystem::absolute(line.config);
  if (const char* variable = std::getenv(master::kInheritableVariable)) {
    std::istringstream lines{std::string(variable)};
    for (std::string each; std::getline(lines, each);) start.inheritable.push_back(each);
    start.master = ::getppid();
  }
  std::vector<master::InheritedSocket> activated;
  add_activated_sockets(activated);
  for (const auto& socket : activated) start.inheritable.push_back(socket.address);
  return start;
}

/// Returns whether a start would succeed with CONFIG. Prints all problems.
bool could_start(const CommandLine& line, const master::Config& config) {
  const auto found = app::start_errors(config, conditions_of(line, config));
  for (const std::string& each : found) fmt::print(stderr, "{}\n", each);
  for (const std::string& each : app::start_warnings(config)) {
    fmt::print(stderr, "warning: {}\n", each);
  }
  return found.empty();
}

int run_config(const CommandLine& line, std::optional<master::Handover>& handover) {
  const master::ConfigReading reading = app::read_configuration(line.config, reading_options(line));
  if (!reading.mistakes.empty() && handover) {
    return could_not_start(line, handover, reading.mistakes);
  }
  for (const std::string& mistake : reading.mistakes) fmt::print(stderr, "{}\n", mistake);
  if (!reading.mistakes.empty()) return kFailed;
  if (line.test > 0) {
    for (const std::string& notice : reading.notices) fmt::print(stderr, "{}\n", notice);
    if (!could_start(line, reading.config)) return kFailed;
    // Print the result on standard error if standard output contains the dump.
    if (line.test > 1) fmt::print("{}", master::dump(reading.config));
    fmt::print(line.test > 1 ? stderr : stdout, "configuration file {} test is successful\n",
               line.config);
    return 0;
  }
  return run(reading.config, line, handover, start_of(handover), {}, reading.notices);
}

/// Returns TEXT, the value of OPTION, as an address to listen on. If TEXT is not an address, prints
/// the mistake and returns nullopt.
std::optional<base::SocketAddress> address_of(const char* option, const std::string& text) {
  const auto address = base::SocketAddress::parse(text);
  if (address && !address->is_unix()) return *address;
  fmt::print(stderr, "quarryd: {} must be ADDRESS:PORT, not \"{}\"\n", option,
             base::printable(text));
  return std::nullopt;
}

/// Returns whether a server cannot listen on both ONE and OTHER.
bool overlap(const base::SocketAddress& one, const base::SocketAddress& other) {
  const auto covers = [](const base::SocketAddress& all, const base::SocketAddress& each) {
    return all.ip() == "::" || (all.ip() == "0.0.0.0" && all.family() == each.family());
  };
  return one.port() == other.port() && one.port() != 0 &&
         (one.same_ip(other) || covers(one, other) || covers(other, one));
}

int run_serve(const CommandLine& line, std::optional<master::Handover>& handover) {
  app::ServeOptions options{.path = line.serve,
                            .children = line.children,
                            .running_as_root = ::geteuid() == 0,
                            .user = line.user,
                            .has_changes = line.has_changes,
                            .has_pages = !line.has_no_pages};
  if (!line.http.empty() || line.https.empty()) {
    options.http = address_of("--http", line.http.empty() ? app::kDefaultHttp : line.http);
    if (!options.http) return kWrongUsage;
  }
  if (!line.https.empty()) {
    options.https = address_of("--https", line.https);
    if (!options.https) return kWrongUsage;
    options.certificate = {.certificate = std::filesystem::absolute(line.certificate),
                           .key = std::filesystem::absolute(line.key)};
  }
  if (options.http && options.https && overlap(*options.http, *options.https)) {
    fmt::print(stderr, "quarryd: --http {} and --https {} overlap: use different ports\n",
               options.http->str(), options.https->str());
    return kWrongUsage;
  }
  const auto folder = app::private_folder(handover ? handover->notes[kFolderNote] : "");
  if (!folder) return could_not_start(line, handover, {folder.error().message});
  const auto config = app::config_to_serve(options, *folder);
  if (!config) return could_not_start(line, handover, {config.error().message});
  if (line.test > 0) {
    if (!could_start(line, *config)) return kFailed;
    fmt::print("{} can be served\n", line.serve);
    return 0;
  }
  return run(*config, line, handover, start_of(handover), **folder);
}

int run_command_line(int argc, char** argv) {
  const auto line = app::parse_command_line(argc, argv);
  if (!line) return line.error();
  auto handover = master::take_handover();
  if (!handover) return failed(handover.error().message);
  return line->serve.empty() ? run_config(*line, *handover) : run_serve(*line, *handover);
}

}  // namespace

int main(int argc, char** argv) {
  // Read TZ now, because children might have an empty environment.
  ::tzset();
  base::prepare_process_title(argv);
  try {
    return run_command_line(argc, argv);
  } catch (const std::exception& error) {
    std::fputs("quarryd: ", stderr);
    std::fputs(error.what(), stderr);
    std::fputs("\n", stderr);
    return kFailed;
  }
}
