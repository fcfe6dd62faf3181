#include "apart.h"

#include <fmt/core.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>

#include "exit_codes.h"
#include "interruption.h"
#include "quarry/base/spawn.h"

namespace quarry::app {

int run_apart(const std::vector<std::string>& arguments, const std::string& what) {
  std::vector<std::string> words{"quarry"};
  words.insert(words.end(), arguments.begin(), arguments.end());
  const auto pid = base::spawn({.words = words,
                                .program = "/proc/self/exe",
                                .descriptors = {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO},
                                .folder = {},
                                .has_own_group = false});
  if (!pid) {
    return failed({ErrorCode::kIo, fmt::format("cannot start a process for {}", what)});
  }
  return exit_code_of_child(*pid);
}

int exit_code_of_child(pid_t pid) {
  int status = 0;
  while (::waitpid(pid, &status, 0) < 0 && errno == EINTR) {
    // Stop the child with SIGTERM, because the signal might have been sent only to this process.
    // After Ctrl-C, the child also gets SIGINT from the terminal, which does no harm.
    if (Interruption::signal() != 0) ::kill(pid, SIGTERM);
  }
  return WIFEXITED(status) ? WEXITSTATUS(status) : kFailed;
}

}  // namespace quarry::app
