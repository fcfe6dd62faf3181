// A library that is loaded into a `fossil` by who starts the processes of pages (fossil_starter.h): it
// stops the program at the entry of its main function, and makes a process for each order by fork.
//
// Of the time of a short page a third is spent on executing the program and on linking it to its
// libraries. That is done here once: what a fork begins with is a fossil that has read, opened and
// decided nothing yet, as one that was executed. In any other program, or without orders, the library
// does nothing. Needs none but libc: no exceptions.
#include <dlfcn.h>
#include <malloc.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/syscall.h>

#include <cstdint>
#include <cstdlib>
#include <cstring>

#include "page_order.h"

namespace quarry::pages {
namespace {

using Main = int (*)(int, char**, char**);

constexpr int kFailed = 127;

/// Bytes that nearly every page writes to: 1.1 MB were counted for timelines.
constexpr std::size_t kHeap = std::size_t{1280} << 10;

Main real_main = nullptr;

/// Memory at the end of the heap of which nothing has been written to yet. The kernel gives it to a
/// process page by page as it is written to, with an interrupt for each, which took a third of a short
/// page's time; what is certainly needed is asked for at once.
class Heap {
 public:
  /// In who starts pages: sets it aside, not written to.
  void reserve() {
    // From the heap's end, which is not to shrink when it is freed.
    ::mallopt(M_MMAP_THRESHOLD, 2 * kHeap);
    ::mallopt(M_TRIM_THRESHOLD, 8 * kHeap);
    ::mallopt(M_TOP_PAD, kHeap / 4);
    void* const volatile place = ::malloc(kHeap);
    if (place == nullptr) return;
    const auto page = static_cast<std::uintptr_t>(::sysconf(_SC_PAGESIZE));
    begin_ = (reinterpret_cast<std::uintptr_t>(place) + page - 1) / page * page;
    ::free(place);
  }

  /// In the process of a page. Where the kernel cannot (before Linux 5.14), it comes as it always did.
  void take() const {
    if (begin_ == 0) return;
    ::madvise(reinterpret_cast<void*>(begin_), kHeap, MADV_POPULATE_WRITE);
  }

 private:
  std::uintptr_t begin_ = 0;
};

/// This library is the first of those that are preloaded. What the program starts is to know nothing
/// of it.
void leave_environment() {
  ::unsetenv(kOwnerVariable);
  ::unsetenv(kLinkAtOnce);
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
  Heap heap;
  heap.reserve();
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
      heap.take();
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
