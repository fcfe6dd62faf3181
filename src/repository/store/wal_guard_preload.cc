// A library that is preloaded into each `fossil` process that we start (base/fossil_environment.h).
// Fossil has its own SQLite. The library wraps fcntl(2) to make Fossil's SQLite keep the two WAL
// rules (wal_lock_rules.h).
//
// Fossil requests a checkpoint after each commit. Because of rule (a), a checkpoint holds the write
// lock. If another fossil process begins to write at that time, its page request fails. Therefore,
// the library refuses checkpoints of short logs.
//
// The library affects only exclusive locks on bytes 120 to 127 of files whose names end in "-shm".
// The library needs only libc, and does not use exceptions or allocate memory.
#include <dlfcn.h>
#include <fcntl.h>
#include <pthread.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdarg>
#include <cstdint>
#include <cstdio>
#include <string_view>

#include "process_wal_locks.h"

namespace quarry::repository {
namespace {

constexpr off_t kFirstByte = 120;

/// libc's own function NAME, which a function in this library replaces. It is looked up at the
/// first call. Thread-safe.
template <typename Function>
class RealFunction {
 public:
  constexpr explicit RealFunction(const char* name) : name_(name) {}
  Function get() {
    Function function = function_.load(std::memory_order_relaxed);
    if (function == nullptr) {
      function = reinterpret_cast<Function>(::dlsym(RTLD_NEXT, name_));
      function_.store(function, std::memory_order_relaxed);
    }
    return function;
  }

 private:
  const char* name_;
  std::atomic<Function> function_ = nullptr;
};

constinit RealFunction<int (*)(int, int, ...)> real_fcntl("fcntl64");
constinit RealFunction<int (*)(int)> real_close("close");

/// The locks of this process. This object is cleared in a forked child, which does not inherit
/// locks.
class Guard {
 public:
  void begin();
  int lock(int fd, int command, struct flock& asked);
  void closing(int fd);

 private:
  /// Sets locks in the kernel with the fcntl command of the caller.
  struct Kernel {
    int fd;
    int command;
    int set(LockBytes bytes, short type) const {
      struct flock lock {};
      lock.l_type = type;
      lock.l_whence = SEEK_SET;
      lock.l_start = kFirstByte + bytes.first;
      lock.l_len = bytes.count;
      return real_fcntl.get()(fd, command, &lock) == 0 ? 0 : errno;
    }
    int lock(LockBytes bytes) const { return set(bytes, F_WRLCK); }
    void unlock(LockBytes bytes) const { set(bytes, F_UNLCK); }
  };
  /// Returns whether this object describes the locks of the calling process. A child of vfork(2)
  /// shares its parent's memory but not its locks.
  bool is_own_memory() const { return pid_ == ::getpid(); }

  pthread_mutex_t mutex_ = PTHREAD_MUTEX_INITIALIZER;
  pid_t pid_ = 0;  // 0: before begin()
  ProcessWalLocks locks_;
};

constinit Guard guard;

[[gnu::constructor]] void begin_guard() {
  guard.begin();
}

class Locked {
 public:
  explicit Locked(pthread_mutex_t& mutex) : mutex_(mutex) { ::pthread_mutex_lock(&mutex_); }
  ~Locked() { ::pthread_mutex_unlock(&mutex_); }
  Locked(const Locked&) = delete;
  Locked& operator=(const Locked&) = delete;

 private:
  pthread_mutex_t& mutex_;
};

bool identify(int fd, ProcessWalLocks::File& file) {
  struct stat status {};
  if (::fstat(fd, &status) != 0) return false;
  file = {status.st_dev, status.st_ino};
  return true;
}

/// Returns whether FD is the index of a write-ahead log (a file -shm). Also returns true if this
/// cannot be determined, for example in a chroot(2) without /proc.
bool is_log_index(int fd) {
  char link[32];
  char path[4096];
  std::snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
  const ssize_t size = ::readlink(link, path, sizeof path);
  if (size < 0) return true;
  std::string_view name(path, static_cast<std::size_t>(size));
  constexpr std::string_view kDeleted = " (deleted)";
  if (name.ends_with(kDeleted)) name.remove_suffix(kDeleted.size());
  return name.ends_with("-shm");
}

void Guard::begin() {
  pid_ = ::getpid();
  ::pthread_atfork([] { ::pthread_mutex_lock(&guard.mutex_); },
                   [] { ::pthread_mutex_unlock(&guard.mutex_); },
                   [] {
                     guard.locks_.clear();
                     guard.pid_ = ::getpid();
                     ::pthread_mutex_unlock(&guard.mutex_);
                   });
}

/// Returns whether the write-ahead log with the index FD is so short that SQLite would not make a
/// checkpoint by default. The position of the number of frames is documented in
/// https://sqlite.org/walformat.html.
bool is_log_short(int fd) {
  constexpr off_t kFrameCount = 16;
  constexpr std::uint32_t kDefaultCheckpoint = 1000;
  std::uint32_t frames = 0;
  return ::pread(fd, &frames, sizeof frames, kFrameCount) == sizeof frames &&
         frames < kDefaultCheckpoint;
}

int Guard::lock(int fd, int command, struct flock& asked) {
  const LockBytes bytes{static_cast<int>(asked.l_start - kFirstByte),
                        static_cast<int>(asked.l_len)};
  ProcessWalLocks::File file;
  const int before = errno;
  if (!is_own_memory() || !is_log_index(fd) || !identify(fd, file)) {
    errno = before;
    return real_fcntl.get()(fd, command, &asked);
  }
  const Kernel kernel{fd, command};
  const auto thread = static_cast<std::uintptr_t>(::pthread_self());
  const Locked locked(mutex_);
  if (asked.l_type == F_WRLCK) {
    if (bytes.mask() == kCheckpointByte.mask() && is_log_short(fd)) {
      errno = EAGAIN;
      return -1;
    }
    const int code = locks_.take(file, thread, bytes, EAGAIN, kernel);
    errno = code == 0 ? before : code;
    return code == 0 ? 0 : -1;
  }
  // The request unlocks the bytes, or changes their lock to a shared lock.
  const int done = real_fcntl.get()(fd, command, &asked);
  const int after = done == 0 ? before : errno;
  if (done == 0) locks_.released(file, thread, bytes, kernel);
  errno = after;
  return done;
}

/// Call before FD is closed, because closing any descriptor of a file releases all locks of the
/// process on this file.
void Guard::closing(int fd) {
  if (!is_own_memory()) return;
  const int before = errno;
  const Locked locked(mutex_);
  ProcessWalLocks::File file;
  if (!locks_.is_empty() && identify(fd, file)) locks_.forget(file);
  errno = before;
}

/// Returns whether ASKED is a request that SQLite can make for the log's index. Requests that wait
/// for a lock (F_SETLKW) are passed on unchanged, because the rules do not apply to them.
bool is_log_request(int command, const struct flock* asked) {
  const bool sets = command == F_SETLK || command == F_OFD_SETLK;
  return sets && asked != nullptr && asked->l_whence == SEEK_SET && asked->l_start >= kFirstByte &&
         asked->l_len >= 1 && asked->l_start + asked->l_len <= kFirstByte + kLockByteCount;
}

int guarded_fcntl(int fd, int command, void* argument) {
  auto* asked = static_cast<struct flock*>(argument);
  if (!is_log_request(command, asked)) return real_fcntl.get()(fd, command, argument);
  return guard.lock(fd, command, *asked);
}

}  // namespace
}  // namespace quarry::repository

// In the source code, these functions do not have libc's names, because libc's headers might define
// these names as macros.
extern "C" {
[[gnu::visibility("default")]] int quarry_fcntl(int fd, int command, ...) asm("fcntl");
[[gnu::visibility("default")]] int quarry_fcntl64(int fd, int command, ...) asm("fcntl64");
[[gnu::visibility("default")]] int quarry_close(int fd) asm("close");

int quarry_fcntl(int fd, int command, ...) {
  std::va_list arguments;
  va_start(arguments, command);
  void* argument = va_arg(arguments, void*);
  va_end(arguments);
  return quarry::repository::guarded_fcntl(fd, command, argument);
}

int quarry_fcntl64(int fd, int command, ...) {
  std::va_list arguments;
  va_start(arguments, command);
  void* argument = va_arg(arguments, void*);
  va_end(arguments);
  return quarry::repository::guarded_fcntl(fd, command, argument);
}

int quarry_close(int fd) {
  quarry::repository::guard.closing(fd);
  return quarry::repository::real_close.get()(fd);
}
}
