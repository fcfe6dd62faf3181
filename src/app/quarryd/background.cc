#include "background.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

#include "quarry/base/pipe.h"

namespace quarry::app {

base::Result<base::Fd> go_to_background() {
  QUARRY_TRY_ASSIGN(base::Pipe pipe, base::make_pipe());
  const pid_t pid = ::fork();
  if (pid < 0) return base::fail_errno("cannot make a process");
  if (pid == 0) {
    if (::setsid() < 0) return base::fail_errno("cannot leave the session");
    return std::move(pipe.writing);
  }
  pipe.writing.reset();
  char byte = 0;
  ssize_t size = -1;
  do {
    size = ::read(pipe.reading.get(), &byte, 1);
  } while (size < 0 && errno == EINTR);
  // Without a byte the child has failed, and has printed why.
  ::_exit(size == 1 ? 0 : 1);
}

void detach_from_terminal(base::Fd waiting) {
  const base::Fd nowhere(::open("/dev/null", O_RDWR | O_CLOEXEC));
  for (const int standard : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
    ::dup2(nowhere.get(), standard);
  }
  const char byte = 0;
  [[maybe_unused]] const auto ignored = ::write(waiting.get(), &byte, 1);
}

}  // namespace quarry::app
