#include "quarry/base/spawn.h"

#include <fcntl.h>
#include <spawn.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstddef>

#include "quarry/base/fd.h"

namespace quarry::base {
namespace {

/// What posix_spawn is told.
class Plan {
 public:
  Plan() {
    ::posix_spawn_file_actions_init(&actions_);
    ::posix_spawnattr_init(&attributes_);
  }
  ~Plan() {
    ::posix_spawn_file_actions_destroy(&actions_);
    ::posix_spawnattr_destroy(&attributes_);
  }
  Plan(const Plan&) = delete;
  Plan& operator=(const Plan&) = delete;

  void set_files(const std::vector<Fd>& sources, const std::string& folder) {
    int place = 0;
    for (const Fd& source : sources) {
      ::posix_spawn_file_actions_adddup2(&actions_, source.get(), place++);
    }
    ::posix_spawn_file_actions_addclosefrom_np(&actions_, place);
    ::posix_spawn_file_actions_addchdir_np(&actions_, folder.c_str());
  }

  void set_signals_and_group() {
    sigset_t none;
    sigset_t all;
    ::sigemptyset(&none);
    ::sigfillset(&all);
    ::posix_spawnattr_setsigmask(&attributes_, &none);
    ::posix_spawnattr_setsigdefault(&attributes_, &all);
    ::posix_spawnattr_setpgroup(&attributes_, 0);
    ::posix_spawnattr_setflags(
        &attributes_,
        static_cast<short>(POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETPGROUP));
  }

  /// Returns errno.
  int run(pid_t& pid, const Launch& launch) {
    const auto words = pointers_to(launch.words);
    return ::posix_spawnp(&pid, words[0], &actions_, &attributes_, words.data(),
                          pointers_to(launch.environment).data());
  }

 private:
  posix_spawn_file_actions_t actions_{};
  posix_spawnattr_t attributes_{};
};

}  // namespace

std::vector<char*> pointers_to(const std::vector<std::string>& words) {
  std::vector<char*> pointers;
  for (const std::string& word : words) pointers.push_back(const_cast<char*>(word.c_str()));
  pointers.push_back(nullptr);
  return pointers;
}

Result<pid_t> spawn(const Launch& launch) {
  // Beyond all places, so that none is overwritten before it was taken.
  const int beyond = static_cast<int>(launch.descriptors.size()) + STDERR_FILENO + 1;
  std::vector<Fd> sources;
  for (const int descriptor : launch.descriptors) {
    sources.emplace_back(::fcntl(descriptor, F_DUPFD_CLOEXEC, beyond));
    if (!sources.back()) return fail_errno("cannot start " + launch.words[0]);
  }
  Plan plan;
  plan.set_files(sources, launch.folder);
  plan.set_signals_and_group();
  pid_t pid = -1;
  if (const int code = plan.run(pid, launch); code != 0) {
    errno = code;
    auto failure = fail_errno("cannot start " + launch.words[0]);
    if (code == ENOENT) failure.error().code = ErrorCode::kNotFound;
    return failure;
  }
  return pid;
}

}  // namespace quarry::base
