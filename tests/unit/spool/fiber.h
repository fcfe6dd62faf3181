// A thread of a schedule: a stack, the context in which it continues, and what it waits for.
#pragma once

#include <sys/mman.h>
#include <ucontext.h>

#include <array>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <system_error>
#include <utility>

#include "scheduled_threading.h"

namespace quarry::spool::schedule {

using Work = std::move_only_function<void()>;

/// Its lowest page is protected, so that an overflow causes a fault.
class Stack {
 public:
  static constexpr std::size_t kSize = 256UZ * 1024;
  static constexpr std::size_t kGuard = 4096;

  Stack()
      : base_(::mmap(nullptr, kSize, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0)) {
    if (base_ == MAP_FAILED || ::mprotect(base_, kGuard, PROT_NONE) != 0) {
      throw std::system_error(errno, std::generic_category(), "the stack of a fiber");
    }
  }
  ~Stack() { ::munmap(base_, kSize); }
  Stack(const Stack&) = delete;
  Stack& operator=(const Stack&) = delete;

  void* base() const { return base_; }

 private:
  void* base_;
};

enum class Waiting : std::uint8_t { kForNothing, kForMutex, kForCondition, kForThread };

struct Fiber {
  int id = 0;
  std::unique_ptr<Stack> stack;  // null: the fiber of explore() itself
  ucontext_t context{};
  /// Saved __cxa_eh_globals, which is opaque, while another fiber runs.
  std::array<std::byte, 2 * sizeof(void*)> exceptions{};
  int error_number = 0;
  Work work;  // until it starts

  void reset(Work next) {
    exceptions = {};
    work = std::move(next);
    done = detached = false;
    waiting = Waiting::kForNothing;
    notifies = nullptr;
  }
  std::string name() const { return id == 0 ? "main" : "thread " + std::to_string(id); }

  bool done = false;
  bool detached = false;
  bool timed_out = false;
  Waiting waiting = Waiting::kForNothing;
  Mutex* mutex = nullptr;
  const Condition* condition = nullptr;
  const Condition* notifies = nullptr;  // when it runs again
  const Fiber* thread = nullptr;
  TimePoint deadline = TimePoint::max();

  bool waits_for(const Condition& other) const {
    return waiting == Waiting::kForCondition && condition == &other;
  }
  bool waits_timed() const {
    return waiting == Waiting::kForCondition && deadline != TimePoint::max();
  }
};

}  // namespace quarry::spool::schedule
