// quarry queue run --once: runs the three daemons of a queue one after another, each until all of
// its work is done. The command is meant for cron, if a server does not run the daemons.
#include <unistd.h>

#include <filesystem>
#include <string>
#include <system_error>
#include <vector>

#include "changes_commands.h"
#include "common/apart.h"
#include "common/exit_codes.h"
#include "common/interruption.h"
#include "common/owner.h"
#include "quarry/base/spawn.h"
#include "queue_access.h"

namespace quarry::app {
namespace {

namespace fs = std::filesystem;

fs::path program() {
  constexpr const char* kName = "quarry-changes";
  std::error_code error;
  const fs::path here = fs::read_symlink("/proc/self/exe", error).parent_path() / kName;
  return !error && fs::exists(here, error) ? here : fs::path(QUARRY_SERVER_FOLDER) / kName;
}

Result<void> run(const std::vector<std::string>& words) {
  QUARRY_TRY_ASSIGN(const pid_t pid,
                    base::spawn({.words = words,
                                 .program = program().string(),
                                 .descriptors = {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}}));
  const Interruption interruption;
  if (exit_code_of_child(pid) == kDone) return {};
  return fail(ErrorCode::kIo, "quarry-changes {} failed", words[1]);
}

}  // namespace

Result<void> run_queue_daemons(const QueueArguments& arguments) {
  QUARRY_TRY_ASSIGN(const std::string repository, repository_of(arguments));
  QUARRY_TRY(act_as_owner_of(repository));
  for (const char* kind : {"prequeue", "queueing", "execution"}) {
    std::vector<std::string> words{"quarry-changes", kind, "--once"};
    if (!arguments.folder.empty()) {
      words.insert(words.end(), {"--queue", fs::absolute(arguments.folder).string()});
    }
    for (const std::string& each : arguments.settings) words.insert(words.end(), {"--set", each});
    words.push_back(fs::absolute(repository).string());
    QUARRY_TRY(run(words));
  }
  return {};
}

}  // namespace quarry::app
