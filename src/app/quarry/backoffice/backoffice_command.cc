// quarry backoffice: runs a repository's background jobs, once or repeatedly (--poll). Several
// repositories are handled in separate processes, so that a failure in one does not affect the
// others. The server starts it with additional options.
#include <fmt/core.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <map>
#include <system_error>
#include <thread>

#include "backoffice_commands.h"
#include "backoffice_run.h"
#include "common/exit_codes.h"
#include "common/interruption.h"
#include "quarry/base/spawn.h"
#include "quarry/repository/repository_folder.h"
#include "quarry/repository/repository_name.h"

namespace quarry::app {
namespace {

namespace fs = std::filesystem;
using std::chrono::steady_clock;

// Limits the depth, because symbolic links may form cycles.
constexpr int kDeepestFolder = 8;

/// The served repositories in FOLDER, only those with NUMBER if it is given.
std::vector<fs::path> repositories_in(const fs::path& folder, std::optional<std::uint32_t> number) {
  std::vector<fs::path> found;
  std::error_code error;
  constexpr auto kOptions = fs::directory_options::skip_permission_denied |
                            fs::directory_options::follow_directory_symlink;
  for (fs::recursive_directory_iterator at(folder, kOptions, error), end; !error && at != end;
       at.increment(error)) {
    if (at.depth() >= kDeepestFolder) at.disable_recursion_pending();
    if (at->path().extension() != ".fossil") continue;
    const auto relative = at->path().lexically_relative(folder).replace_extension();
    const auto name = repository::RepositoryName::parse(relative.string());
    if (!name || (number && repository::number_of(name->str()) != *number)) continue;
    if (const auto located = repository::locate(folder, *name)) found.push_back(located->path);
  }
  std::ranges::sort(found);
  return found;
}

/// Size and modification time of the repository and its log, which change with every commit.
std::string state_of(const std::string& path) {
  std::string state;
  for (const char* suffix : {"", "-wal"}) {
    struct stat status {};
    if (::stat((path + suffix).c_str(), &status) != 0) continue;
    state +=
        fmt::format("{} {}.{} ", status.st_size, status.st_mtim.tv_sec, status.st_mtim.tv_nsec);
  }
  return state;
}

/// Runs this program for FILE in a separate process, and returns its exit code.
int run_apart(const BackofficeArguments& arguments, const std::string& file) {
  std::vector<std::string> words{"quarry", "backoffice",
                                 arguments.is_automatic ? "--nodelay" : "--nolease"};
  if (!arguments.log_file.empty()) {
    words.insert(words.end(), {"--logfile", arguments.log_file});
  }
  if (!arguments.courier.empty()) words.insert(words.end(), {"--courier", arguments.courier});
  if (arguments.is_automatic) {
    words.insert(words.end(),
                 {"--automatic", "--lease-time", std::to_string(arguments.lease_time)});
  }
  if (arguments.trace) words.push_back("--trace");
  if (arguments.compacts) words.push_back("--compact");
  words.insert(words.end(), {"--", file});
  const auto pid = base::spawn({.words = words,
                                .program = "/proc/self/exe",
                                .descriptors = {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO},
                                .folder = {},
                                .has_own_group = false});
  if (!pid) {
    return failed({base::ErrorCode::kIo, fmt::format("cannot start a process for {}", file)});
  }
  int status = 0;
  while (::waitpid(*pid, &status, 0) < 0) {
    // Ctrl-C reaches the child, too; other signals are passed on.
    if (Interruption::signal() != 0) ::kill(*pid, SIGTERM);
  }
  return WIFEXITED(status) ? WEXITSTATUS(status) : kFailed;
}

int run_each(const BackofficeArguments& arguments, const std::vector<std::string>& files) {
  int code = kDone;
  for (const std::string& file : files) {
    if (Interruption::signal() != 0) break;
    code = std::max(code, run_apart(arguments, file));
  }
  return code;
}

/// Sleeps for TIME or until a signal arrives.
void wait_for(std::chrono::seconds time) {
  const auto end = steady_clock::now() + time;
  while (Interruption::signal() == 0 && steady_clock::now() < end) {
    // A signal interrupts the sleep, which is not restarted.
    const timespec step{1, 0};
    ::nanosleep(&step, nullptr);
  }
}

int poll(const BackofficeArguments& arguments) {
  struct Seen {
    std::string state;
    steady_clock::time_point ran;
  };
  std::map<std::string, Seen> seen;
  while (Interruption::signal() == 0) {
    for (const std::string& file : arguments.files) {
      Seen& last = seen[file];
      const bool is_due = arguments.min > 0 &&
                          steady_clock::now() - last.ran >= std::chrono::seconds(arguments.min);
      // The state before the run: commits during the run cause another one. So do the run's own,
      // but the second run has nothing to do and writes nothing.
      const std::string state = state_of(file);
      if (last.ran != steady_clock::time_point() && !is_due && last.state == state) continue;
      run_apart(arguments, file);
      last = {state, steady_clock::now()};
    }
    wait_for(std::chrono::seconds(arguments.poll));
  }
  return kDone;
}

/// Runs for a server: one repository, those in a folder with a number, or all in a folder.
int run_for_server(const BackofficeArguments& arguments, const control::Channel& master) {
  const std::string& path = arguments.files.front();
  std::vector<fs::path> files{path};
  if (arguments.is_folder) files = repositories_in(path, arguments.number);
  if (arguments.is_folder && !arguments.number) {
    std::vector<std::string> names;
    for (const fs::path& file : files) names.push_back(file.string());
    return run_each(arguments, names);
  }
  int code = kDone;
  for (const fs::path& file : files) {
    if (const auto done = BackofficeRun(arguments, master).run(file); !done) {
      code = failed(done.error());
    }
  }
  return code;
}

}  // namespace

int run_backoffice(const BackofficeArguments& arguments) {
  const control::Channel master = control::Channel::of_standard_input();
  const Interruption interruption;
  if (arguments.poll > 0) return poll(arguments);
  if (arguments.is_automatic) return run_for_server(arguments, master);
  if (arguments.files.size() > 1) return run_each(arguments, arguments.files);
  const auto done = BackofficeRun(arguments, master).run(arguments.files.front());
  return done ? kDone : failed(done.error());
}

}  // namespace quarry::app
