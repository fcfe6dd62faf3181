// What is asked of the process that starts those of pages, and what it answers: an order is a byte
// with three descriptors, the answer a Started, and its first one is of nobody, and says that it is
// ready. Of libc alone (kept_fossil.cc).
#pragma once

#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/types.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <cstddef>
#include <optional>
#include <span>

#include "quarry/base/descriptor_message.h"

namespace quarry::pages {

/// Where who starts them has his end of the socket.
constexpr int kOrders = 3;
/// The variable that tells a kept fossil whom it starts pages for: a process id.
constexpr const char* kOwnerVariable = "QUARRY_PAGES_OWNER";
/// The variable that makes ld.so look all functions up at once: in who starts pages instead of in each.
constexpr const char* kLinkAtOnce = "LD_BIND_NOW";
/// What who starts them is called.
constexpr const char* kStarterName = "page starter";

struct Started {
  pid_t pid;
  int error;  // errno; 0: it is started
};

/// Standard input, output and errors of who is to be started.
using PageDescriptors = std::array<int, 3>;

inline bool send_order(int socket, const PageDescriptors& descriptors) {
  constexpr std::array kNothing{std::byte{0}};
  return base::send_descriptors(socket, kNothing, descriptors);
}

/// Nothing: there is nobody any more who would order.
inline std::optional<PageDescriptors> receive_order(int socket) {
  std::array<std::byte, 1> nothing{};
  PageDescriptors descriptors{};
  const std::size_t came = base::receive_descriptors(socket, nothing, descriptors);
  return came == descriptors.size() ? std::optional(descriptors) : std::nullopt;
}

inline bool send_answer(int socket, const Started& started) {
  return ::send(socket, &started, sizeof started, MSG_NOSIGNAL) == sizeof started;
}

/// What a new process does to be the one that was ordered by OWNER, its parent: it has DESCRIPTORS,
/// leads a group, and its signals are as they are by default. False: errno.
inline bool be_as_ordered(const PageDescriptors& descriptors, pid_t owner) {
  ::setpgid(0, 0);
  // Nobody else would end one that hangs when its owner has died.
  if (::prctl(PR_SET_PDEATHSIG, SIGKILL) != 0) return false;
  if (::getppid() != owner) {
    errno = ESRCH;
    return false;
  }
  for (int place = 0; place < 3; ++place) {
    if (::dup2(descriptors[static_cast<std::size_t>(place)], place) < 0) return false;
  }
  for (int signal = 1; signal < NSIG; ++signal) ::signal(signal, SIG_DFL);
  sigset_t none;
  ::sigemptyset(&none);
  ::sigprocmask(SIG_SETMASK, &none, nullptr);
  return true;
}

}  // namespace quarry::pages
