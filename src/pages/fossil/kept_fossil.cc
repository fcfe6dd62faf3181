// A library that is loaded into a `fossil` by who starts the processes of pages (fossil_starter.h): it
// stops the program at the entry of its main function, and makes a process for each order by fork.
//
// Of the time of a short page a third is spent on executing the program and on linking it to its
// libraries. That is done here once: what a fork begins with is a fossil that has read, opened and
// decided nothing yet, as one that was executed. In any other program, or without orders, the library
// does nothing. Needs none but libc: no exceptions, no allocation.
#include <dlfcn.h>
#include <sched.h>
#include <sys/syscall.h>

#include <cstdlib>
#include <cstring>

#include "page_order.h"

namespace quarry::pages {
namespace {

using Main = int (*)(int, char**, char**);

constexpr int kFailed = 127;

Main real_main = nullptr;

/// This library is the first of those that are preloaded. What the program starts is to know nothing
/// of it.
void leave_environment() {
  ::unsetenv(kOwnerVariable);
  char* const preloaded = ::getenv("LD_PRELOAD");
  if (preloaded == nullptr) return;
  const char* const rest = std::strchr(preloaded, ':');
  if (rest == nullptr) {
    ::unsetenv("LD_PRELOAD");
  } else {
    std::memmove(preloaded, rest + 1, std::strlen(rest));
  }
}

/// Returns in the processes that are to be the program, and in none else.
void start_pages(pid_t owner) {
  std::array<char, 16> own_name{};
  ::prctl(PR_GET_NAME, own_name.data());
  ::prctl(PR_SET_NAME, kStarterName);
  Started answer{.pid = 0, .error = 0};
  while (send_answer(kOrders, answer)) {
    const auto descriptors = receive_order(kOrders);
    if (!descriptors) break;
    // A child of its parent's.
    const long pid = ::syscall(SYS_clone, CLONE_PARENT, nullptr, nullptr, nullptr, 0);
    if (pid == 0) {
      ::prctl(PR_SET_NAME, own_name.data());
      if (!be_as_ordered(*descriptors, owner)) ::_exit(kFailed);
      for (const int each : *descriptors) ::close(each);
      ::close(kOrders);
      return;
    }
    answer = {.pid = static_cast<pid_t>(pid), .error = pid < 0 ? errno : 0};
    for (const int each : *descriptors) ::close(each);
  }
  ::_exit(0);
}

int kept_main(int count, char** words, char** environment) {
  const char* const owner = ::getenv(kOwnerVariable);
  if (owner == nullptr) return real_main(count, words, environment);
  const auto number = static_cast<pid_t>(std::strtol(owner, nullptr, 10));
  leave_environment();
  start_pages(number);
  return real_main(count, words, environ);
}

}  // namespace
}  // namespace quarry::pages

/// What libc's startup code of every program calls, with its main function.
extern "C" [[gnu::visibility("default")]] int __libc_start_main(quarry::pages::Main main, int count,
                                                                char** words, void (*init)(),
                                                                void (*fini)(), void (*rtld_fini)(),
                                                                void* stack_end) {
  const auto real =
      reinterpret_cast<decltype(&__libc_start_main)>(::dlsym(RTLD_NEXT, "__libc_start_main"));
  quarry::pages::real_main = main;
  return real(quarry::pages::kept_main, count, words, init, fini, rtld_fini, stack_end);
}
