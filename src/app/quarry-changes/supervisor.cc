#include "supervisor.h"

#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <ctime>
#include <memory>
#include <optional>
#include <utility>

namespace quarry::app {
namespace {

constexpr int kFailed = 1;

class Child {
 public:
  Child(const std::function<int(const std::vector<ServedQueue>&)>& serve,
        std::vector<ServedQueue> queues)
      : queues_(std::move(queues)) {
    if (queues_.empty()) return;
    const pid_t parent = ::getpid();
    pid_ = ::fork();
    if (pid_ != 0) return;
    ::prctl(PR_SET_PDEATHSIG, SIGTERM);
    // _exit(2): what is this process's is not to be destroyed a second time.
    ::_exit(::getppid() == parent ? serve(queues_) : kFailed);
  }
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;

  const std::vector<ServedQueue>& queues() const { return queues_; }
  /// Its exit code, once it has ended; nothing before, and where there is none.
  std::optional<int> code(bool waits) {
    if (pid_ <= 0) return std::nullopt;
    int status = 0;
    pid_t ended = 0;
    do {
      ended = ::waitpid(pid_, &status, waits ? 0 : WNOHANG);
    } while (ended < 0 && errno == EINTR);
    if (ended == 0) return std::nullopt;
    pid_ = -1;
    return ended > 0 && WIFEXITED(status) ? WEXITSTATUS(status) : kFailed;
  }
  void stop() {
    if (pid_ > 0) ::kill(pid_, SIGTERM);
  }
  bool is_missing() const { return pid_ < 0 && !queues_.empty(); }

 private:
  std::vector<ServedQueue> queues_;
  pid_t pid_ = -1;
};

}  // namespace

int supervise(const std::function<std::vector<ServedQueue>()>& list,
              const std::function<int(const std::vector<ServedQueue>&)>& serve,
              std::chrono::milliseconds look) {
  sigset_t signals;
  ::sigemptyset(&signals);
  for (const int each : {SIGTERM, SIGINT, SIGQUIT}) ::sigaddset(&signals, each);
  const timespec pause{.tv_sec = look.count() / 1000, .tv_nsec = look.count() % 1000 * 1'000'000};
  auto child = std::make_unique<Child>(serve, list());
  for (;;) {
    if (child->is_missing()) return kFailed;
    const bool is_told_to_end = ::sigtimedwait(&signals, nullptr, &pause) > 0;
    if (const auto code = child->code(/*waits=*/false)) return *code;
    if (is_told_to_end) {
      child->stop();
      return child->code(/*waits=*/true).value_or(0);
    }
    auto queues = list();
    if (queues == child->queues()) continue;
    child->stop();
    child->code(/*waits=*/true);
    child = std::make_unique<Child>(serve, std::move(queues));
  }
}

}  // namespace quarry::app
