#include "quarry/base/log.h"

#include <fcntl.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>
#include <csignal>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdint>
#include <filesystem>
#include <utility>

#include "log_frame.h"
#include "quarry/base/log_request.h"
#include "quarry/base/log_stream.h"

namespace quarry::base {
namespace {

struct Log {
  LogOptions options;
  LogStream stream;
  int fd = STDERR_FILENO;  // of `stream`, if any; otherwise not owned, and writes can block
  LostLines lost;
  std::string prefix;
  std::string request;             // id of the current request
  bool has_lost_datagram = false;  // the daemon has not accepted the last line
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

bool put_datagram(Log& log, std::string_view datagram) {
  // If the daemon has not accepted the last line, do not wait, so that a daemon that hangs delays
  // the server only once.
  const int flags = MSG_NOSIGNAL | (log.has_lost_datagram ? MSG_DONTWAIT : 0);
  const auto send = [&] { return ::send(log.fd, datagram.data(), datagram.size(), flags) >= 0; };
  const auto is_disconnected = [] {
    return errno == ECONNREFUSED || errno == ENOTCONN || errno == ECONNRESET;
  };
  log.has_lost_datagram =
      !send() && !(is_disconnected() && connect_to_daemon(log.fd, log.options.path) && send());
  return !log.has_lost_datagram;
}

/// Writes BYTES. Returns false on failure, which must not stop the server.
bool put(Log& log, std::string_view bytes) {
  if (is_socket(log.options.target)) return put_datagram(log, bytes);
  if (log.stream) return log.stream.write(bytes);
  return ::write(log.fd, bytes.data(), bytes.size()) >= 0;
}

bool put_next_part(Log& log, LogFrame& frame) {
  std::string part = frame.next_part();
  if (!log.options.is_buffered && !is_socket(log.options.target)) {
    return put(log, frame.head()) && put(log, part) && put(log, frame.tail());
  }
  part.insert(0, frame.head());
  part += frame.tail();
  return put(log, part);
}

/// Called after the log has accepted a line. Logs the number of lines lost before that line.
void report_lost_lines(Log& log) {
  const std::uint64_t lost = log.lost.take_unreported();
  if (lost == 0) return;
  const std::string message = lost_lines_message("log", lost) + ": " + log.lost.cause();
  LogFrame frame(log.options, {now_micros(), LogLevel::kWarning, ::getpid(), {}, message});
  if (!put_next_part(log, frame)) log.lost.put_back(lost);
}

void put_lines(Log& log, const LogRecord& record) {
  LogFrame frame(log.options, record);
  while (!frame.is_done()) {
    if (put_next_part(log, frame)) {
      report_lost_lines(log);
    } else {
      log.lost.add(errno);
    }
  }
}

Result<LogStream> open_stream(const LogOptions& options) {
  if (options.target == LogTarget::kStderr) return LogStream::of_standard_error();
  QUARRY_TRY_ASSIGN(Fd fd, is_socket(options.target) ? connect_log_socket(options.path)
                                                     : open_log_file("log", options.path));
  return LogStream(std::move(fd));
}

bool is_rotated(const Log& log) {
  return log.options.target == LogTarget::kFile && log.stream &&
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
  constexpr int kFlags = O_APPEND | O_NONBLOCK | O_CLOEXEC | O_NOCTTY | O_CREAT;
  Fd fd(::open(path.c_str(), O_WRONLY | kFlags, 0640));
  // PATH is a FIFO without a reader. With O_RDWR, the FIFO keeps lines until its reader starts.
  if (!fd && errno == ENXIO) fd.reset(::open(path.c_str(), O_RDWR | kFlags, 0640));
  if (!fd) return fail_errno("cannot open the {} {}", what, path);
  return fd;
}

Result<void> open_log(const LogOptions& options, Fd lost) {
  Log& log = the_log();
  QUARRY_TRY_ASSIGN(auto counted, LostLines::make(std::move(lost)));
  QUARRY_TRY_ASSIGN(log.stream, open_stream(options));
  log.options = options;
  log.fd = log.stream.fd();
  log.lost = std::move(counted);
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
  Log& log = the_log();
  return is_rotated(log) ? log.stream.replace(fresh) : Result<void>();
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
  log.stream = {};
  log.fd = fd;
}
void set_log_prefix(std::string prefix) {
  the_log().prefix = std::move(prefix);
}

std::uint64_t lost_log_lines() {
  return the_log().lost.count();
}
int lost_lines_memory() {
  return the_log().lost.memory();
}

std::string lost_lines_message(std::string_view what, std::uint64_t lost) {
  return fmt::format("{} line{} of the {} could not be written and {} lost", lost,
                     lost == 1 ? "" : "s", what, lost == 1 ? "was" : "were");
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

std::optional<LoggedLine> parse_logged(std::string_view line) {
  const std::size_t begin = line.starts_with('[') ? line.find("Z] ") : line.npos;
  const std::size_t colon = begin == line.npos ? line.npos : line.find(": ", begin);
  if (colon == line.npos) return std::nullopt;
  const auto name = std::ranges::find(kNames, line.substr(begin + 3, colon - begin - 3));
  if (name == kNames.end()) return std::nullopt;
  return LoggedLine{static_cast<LogLevel>(name - kNames.begin()), line.substr(colon + 2)};
}

void log_bare(LogLevel level, std::string_view line) {
  Log& log = the_log();
  std::string_view message = line;
  if (const auto logged = parse_logged(line)) {
    level = logged->level;
    message = logged->message;
  }
  if (level < log.options.level) return;
  // A logging daemon expects its own line format, and a line of a JSON log must be an object.
  if (is_socket(log.options.target) || log.options.form == LogForm::kJson) {
    return log_line(level, message);
  }
  if (put(log, fmt::format("{}\n", line))) return report_lost_lines(log);
  log.lost.add(errno);
}

}  // namespace quarry::base
