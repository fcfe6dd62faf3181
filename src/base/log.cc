#include "quarry/base/log.h"

#include <fcntl.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>
#include <csignal>

#include <array>
#include <cerrno>
#include <cstdint>
#include <filesystem>
#include <utility>

#include "log_frame.h"
#include "quarry/base/log_request.h"

namespace quarry::base {
namespace {

struct Log {
  LogOptions options;
  int fd = STDERR_FILENO;
  Fd owned;  // same as fd; empty if fd is standard error or not owned
  std::string prefix;
  std::string request;         // id of the current request
  bool has_lost_line = false;  // the daemon has not accepted the last line
};

Log& the_log() {
  static Log log;
  return log;
}

constexpr std::array<std::string_view, 5> kNames = {"debug", "notice", "warning", "error", "alert"};

bool is_socket(LogTarget target) {
  return target == LogTarget::kSyslog || target == LogTarget::kJournald;
}

std::int64_t now_micros() {
  timeval now{};
  ::gettimeofday(&now, nullptr);
  return std::int64_t{now.tv_sec} * 1000000 + now.tv_usec;
}

// The timeout is long enough for a slow daemon, and prevents a daemon that hangs from stopping the
// server.
constexpr timeval kSendTimeout{1, 0};

bool connect_to_daemon(int fd, const std::string& path) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  path.copy(address.sun_path, sizeof address.sun_path - 1);
  return ::connect(fd, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0;
}

/// Returns a datagram socket connected to the logging daemon at PATH.
Result<Fd> connect_log_socket(const std::string& path) {
  Fd fd(::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  if (!fd || !connect_to_daemon(fd.get(), path)) {
    return fail_errno("cannot reach the logging daemon at {}", path);
  }
  ::setsockopt(fd.get(), SOL_SOCKET, SO_SNDTIMEO, &kSendTimeout, sizeof kSendTimeout);
  return fd;
}

/// Writes BYTES. Errors are ignored, because they cannot be reported and must not stop the server.
void put(int fd, std::string_view bytes) {
  [[maybe_unused]] const auto ignored = ::write(fd, bytes.data(), bytes.size());
}

void put_datagram(Log& log, const std::string& datagram) {
  // If the daemon has not accepted the last line, do not wait, so that a daemon that hangs delays
  // the server only once.
  const int flags = MSG_NOSIGNAL | (log.has_lost_line ? MSG_DONTWAIT : 0);
  const auto send = [&] { return ::send(log.fd, datagram.data(), datagram.size(), flags) >= 0; };
  const auto is_disconnected = [] {
    return errno == ECONNREFUSED || errno == ENOTCONN || errno == ECONNRESET;
  };
  log.has_lost_line =
      !send() && !(is_disconnected() && connect_to_daemon(log.fd, log.options.path) && send());
}

void put_lines(Log& log, const LogRecord& record) {
  LogFrame frame(log.options, record);
  while (!frame.is_done()) {
    std::string part = frame.next_part();
    if (!log.options.is_buffered && !is_socket(log.options.target)) {
      put(log.fd, frame.head());
      put(log.fd, part);
      put(log.fd, frame.tail());
      continue;
    }
    part.insert(0, frame.head());
    part += frame.tail();
    if (is_socket(log.options.target)) {
      put_datagram(log, part);
    } else {
      put(log.fd, part);
    }
  }
}

bool is_rotated(const Log& log) {
  return log.options.target == LogTarget::kFile && log.owned &&
         !is_own_descriptor(log.options.path);
}

/// Follows the symbolic links at PATH, and returns the path at their end. It need not exist.
std::filesystem::path end_of_links(std::filesystem::path path) {
  constexpr int kMost = 40;
  std::error_code error;
  for (int i = 0; i < kMost && std::filesystem::is_symlink(path, error); ++i) {
    path = path.parent_path() / std::filesystem::read_symlink(path, error);
  }
  return path;
}

}  // namespace

std::string_view name_of(LogLevel level) {
  return kNames[static_cast<std::size_t>(level)];
}

Result<Fd> open_log_file(const char* what, const std::string& path) {
  Fd fd(::open(path.c_str(), O_WRONLY | O_APPEND | O_CLOEXEC | O_NOCTTY | O_CREAT, 0640));
  if (!fd) return fail_errno("cannot open the {} {}", what, path);
  return fd;
}

Result<void> open_log(const LogOptions& options) {
  Log& log = the_log();
  Fd fd;
  if (options.target == LogTarget::kFile) {
    QUARRY_TRY_ASSIGN(fd, open_log_file("log", options.path));
  } else if (is_socket(options.target)) {
    QUARRY_TRY_ASSIGN(fd, connect_log_socket(options.path));
  }
  if (!fd) {
    // Log to a duplicate of standard error, because children redirect standard error.
    fd.reset(::fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, STDERR_FILENO + 1));
    if (!fd) return fail_errno("cannot log to standard error");
  }
  log.options = options;
  log.fd = fd.get();
  log.owned = std::move(fd);
  return {};
}

Result<void> check_log_file(const std::string& path) {
  if (is_own_descriptor(path)) return {};
  const Fd file(::open(path.c_str(), O_WRONLY | O_APPEND | O_CLOEXEC | O_NOCTTY | O_NONBLOCK));
  // ENXIO is not an error: PATH is a FIFO whose reader might start later.
  if (file || errno == ENXIO) return {};
  if (errno == ENOENT) {
    const auto folder = end_of_links(path).parent_path();
    if (::faccessat(AT_FDCWD, folder.c_str(), W_OK | X_OK, AT_EACCESS) == 0) return {};
  }
  return fail_errno("cannot open the log {}", path);
}

Result<void> check_log(const LogOptions& options) {
  if (options.target == LogTarget::kFile) return check_log_file(options.path);
  if (!is_socket(options.target)) return {};
  QUARRY_TRY(connect_log_socket(options.path));
  return {};
}

Result<void> reopen_log() {
  const Log& log = the_log();
  if (!is_rotated(log)) return {};
  QUARRY_TRY_ASSIGN(const Fd fresh, open_log_file("log", log.options.path));
  return replace_log(fresh);
}

Result<void> replace_log(const Fd& fresh) {
  const Log& log = the_log();
  if (!is_rotated(log)) return {};
  // Keep the number of the descriptor, because children and libraries might use it.
  if (::dup3(fresh.get(), log.fd, O_CLOEXEC) >= 0) return {};
  return fail_errno("cannot reopen the log {}", log.options.path);
}

void unblock_reopen_signal() {
  sigset_t signals;
  ::sigemptyset(&signals);
  ::sigaddset(&signals, SIGUSR1);
  ::sigprocmask(SIG_UNBLOCK, &signals, nullptr);
}

int log_descriptor() {
  return the_log().fd;
}

void set_log_level(LogLevel level) {
  the_log().options.level = level;
}
LogLevel log_level() {
  return the_log().options.level;
}
void set_log_descriptor(int fd) {
  Log& log = the_log();
  log.options.target = LogTarget::kStderr;
  log.options.form = LogForm::kText;
  log.owned.reset();
  log.fd = fd;
}
void set_log_prefix(std::string prefix) {
  the_log().prefix = std::move(prefix);
}

LogRequest::LogRequest(std::string id) : outer_(std::exchange(the_log().request, std::move(id))) {}
LogRequest::~LogRequest() {
  the_log().request = std::move(outer_);
}

void log_line(LogLevel level, std::string_view message) {
  Log& log = the_log();
  LogRecord record{now_micros(), level, ::getpid(), log.prefix, message};
  std::string with_request;
  if (log.options.target == LogTarget::kJournald || log.options.form == LogForm::kJson) {
    record.request = log.request;
  } else if (!log.request.empty()) {
    with_request = fmt::format("{} [request {}]", message, log.request);
    record.message = with_request;
  }
  put_lines(log, record);
}

void log_bare(LogLevel level, std::string_view message) {
  Log& log = the_log();
  if (level < log.options.level) return;
  // A line to a daemon needs a frame, and a line of a JSON log must be an object.
  if (is_socket(log.options.target) || log.options.form == LogForm::kJson) {
    return log_line(level, message);
  }
  put(log.fd, fmt::format("{}\n", message));
}

}  // namespace quarry::base
