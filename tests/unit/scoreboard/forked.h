// Functions that start child processes and wait for them.
#pragma once

#include <doctest/doctest.h>
#include <sys/wait.h>
#include <unistd.h>
#include <csignal>

/// Runs WORK in a child process and returns its process ID. The child exits with code 0.
template <typename Work>
pid_t start_child(Work work) {
  const pid_t pid = ::fork();
  REQUIRE(pid >= 0);
  if (pid != 0) return pid;
  work();
  ::_exit(0);
}

/// Waits for the child PID and returns its status as in waitpid(2).
inline int status_of(pid_t pid) {
  int status = 0;
  REQUIRE(::waitpid(pid, &status, 0) == pid);
  return status;
}

inline void kill_and_wait(pid_t pid) {
  ::kill(pid, SIGKILL);
  status_of(pid);
}
