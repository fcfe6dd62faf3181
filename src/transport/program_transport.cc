#include "program_transport.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <poll.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/wait.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <utility>

#include "quarry/base/duration.h"
#include "quarry/base/escape.h"
#include "quarry/base/fossil_environment.h"
#include "quarry/base/pipe.h"
#include "quarry/base/spawn.h"
#include "quarry/base/transfer.h"
#include "quarry/http/syntax.h"

namespace quarry::transport {

namespace {

constexpr std::size_t kMaxHead = std::size_t{64} << 10;
// Maximum size of a program's output in an error message.
constexpr std::size_t kMaxWhy = 1000;

/// Returns WORD, quoted for a shell.
std::string for_shell(std::string_view word) {
  std::string text = "'";
  for (const char c : word) {
    if (c == '\'') {
      text += "'\\''";
    } else {
      text += c;
    }
  }
  return text + "'";
}

/// Returns PATH in a form that cannot be mistaken for an option.
std::string as_file(const std::string& path) {
  return path.starts_with('-') ? "./" + path : path;
}

/// Returns the program and its arguments for URL, which has the scheme ssh or file.
std::vector<std::string> program_for(const RemoteUrl& url, const TransportOptions& options) {
  if (url.scheme == RemoteUrl::Scheme::kFile) {
    return {url.program.empty() ? options.local_program : url.program, "test-http",
            as_file(url.path)};
  }
  std::vector<std::string> command = options.ssh_command;
  if (!url.port.empty()) {
    command.emplace_back("-p");
    command.push_back(url.port);
  }
  command.emplace_back("--");
  command.push_back(url.user.empty() ? url.host : url.user + "@" + url.host);
  const std::string program = url.program.empty() ? "fossil" : url.program;
  command.push_back(for_shell(as_file(program)) + " test-http " + for_shell(as_file(url.path)));
  return command;
}

}  // namespace

ProgramTransport::ProgramTransport(const RemoteUrl& url, const TransportOptions& options)
    : options_(options),
      command_(program_for(url, options)),
      address_(url.host.empty() ? "127.0.0.1" : url.host),
      path_(url.path),
      is_own_(url.scheme == RemoteUrl::Scheme::kFile && url.program.empty()),
      is_fossil_(url.scheme == RemoteUrl::Scheme::kFile && !is_own_),
      host_(url.host.empty() ? "localhost" : url.host) {}

ProgramTransport::~ProgramTransport() {
  stop();
}

Result<void> ProgramTransport::start() {
  stop();
  // Use a socket as standard input, because send(2) can suppress the SIGPIPE that a write to a
  // broken pipe would raise.
  std::array<int, 2> input{};
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, input.data()) != 0) {
    return fail_errno("cannot create a socket pair");
  }
  to_.reset(input[0]);
  const base::Fd its_input(input[1]);
  QUARRY_TRY_ASSIGN(base::Pipe output, base::make_pipe());
  from_ = std::move(output.reading);
  const base::Fd nowhere(::open("/dev/null", O_WRONLY | O_CLOEXEC));
  // Discard the error output of our own program, because this program reports errors about the file
  // in its reply.
  const int errors = is_own_ ? nowhere.get() : STDERR_FILENO;
  // The program stays in our process group, so that ssh can ask for a password on the terminal.
  QUARRY_TRY_ASSIGN(pid_,
                    base::spawn({.words = command_,
                                 .environment = is_fossil_ ? base::fossil_environment(environ)
                                                           : base::own_environment(),
                                 .descriptors = {its_input.get(), output.writing.get(), errors},
                                 .folder = {},
                                 .has_own_group = false}));
  received_.clear();
  return {};
}

void ProgramTransport::stop() {
  to_.reset();
  from_.reset();
  if (pid_ > 0) {
    // The program should exit when its input and output are closed. After an interruption,
    // terminate the program, because it might be waiting for another process.
    if (is_interrupted()) ::kill(pid_, SIGTERM);
    base::wait_for_end(pid_);
  }
  pid_ = -1;
}

bool ProgramTransport::send(std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t sent = ::send(to_.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (sent < 0 && errno == EINTR && !is_interrupted()) continue;
    if (sent <= 0) return false;
    bytes.remove_prefix(static_cast<std::size_t>(sent));
  }
  return true;
}

Error ProgramTransport::ended(const char* when) {
  int status = 0;
  std::string how = "exited";
  from_.reset();
  to_.reset();
  if (pid_ > 0 && ::waitpid(pid_, &status, 0) == pid_) {
    pid_ = -1;
    if (WIFEXITED(status)) how = fmt::format("exited with status {}", WEXITSTATUS(status));
    if (WIFSIGNALED(status)) how = fmt::format("was killed by signal {}", WTERMSIG(status));
  }
  return {ErrorCode::kIo, fmt::format("{} {} {}", command_[0], how, when)};
}

/// Appends to received_. Returns 0 at the end of the output.
Result<std::size_t> ProgramTransport::read_more() {
  pollfd ready{.fd = from_.get(), .events = POLLIN, .revents = 0};
  // Check for an interruption at short intervals, because a signal that arrives just before poll(2)
  // does not interrupt it.
  constexpr std::chrono::milliseconds kPollInterval{500};
  const auto until = std::chrono::steady_clock::now() + options_.idle_timeout;
  int count = 0;
  do {
    count = ::poll(&ready, 1, static_cast<int>(kPollInterval.count()));
    if (is_interrupted()) return fail(ErrorCode::kIo, "interrupted");
    if (count < 0 && errno != EINTR) return fail_errno("cannot wait for " + command_[0]);
  } while (count <= 0 && std::chrono::steady_clock::now() < until);
  if (count <= 0) {
    ::kill(pid_, SIGTERM);
    return fail(ErrorCode::kIo, "{} sent nothing for {}", command_[0],
                base::in_words(options_.idle_timeout));
  }
  std::array<char, 65536> buffer{};
  const ssize_t size =
      base::without_interruption([&] { return ::read(from_.get(), buffer.data(), buffer.size()); });
  if (size < 0) return fail_errno("cannot read from " + command_[0]);
  received_.append(buffer.data(), static_cast<std::size_t>(size));
  answered_ = answered_ || size > 0;
  return static_cast<std::size_t>(size);
}

/// Reads the header of an HTTP response or, from fossil over ssh, of a CGI response.
Result<http::ReplyHeader> ProgramTransport::read_header() {
  while (true) {
    if (const std::size_t size = http::header_block_size(received_); size != std::string::npos) {
      std::string block = received_.substr(0, size);
      received_.erase(0, size);
      constexpr std::string_view kVersion = "HTTP/1.x";
      if (block.starts_with("HTTP/1.")) block.replace(0, kVersion.size(), "Status:");
      auto header = http::parse_reply_header(block);
      if (header && block.starts_with("Status:")) return header;
      return fail(ErrorCode::kInvalid, "the reply is not HTTP");
    }
    if (received_.size() > kMaxHead) return fail(ErrorCode::kInvalid, "the reply is not HTTP");
    QUARRY_TRY_ASSIGN(const std::size_t size, read_more());
    if (size == 0) return std::unexpected(ended("before it replied"));
  }
}

Result<TransportReply> ProgramTransport::attempt(const std::string& request) {
  answered_ = !received_.empty();
  // Ignore errors of send(): the program might have exited early and might have sent the reason,
  // which is read next.
  (void)send(request);
  QUARRY_TRY_ASSIGN(const http::ReplyHeader header, read_header());
  auto reply = read_body(header);
  if (header.status == 200) return reply;
  const ErrorCode code = header.status == 404 ? ErrorCode::kNotFound : ErrorCode::kIo;
  if (reply && reply->content_type.starts_with("text/plain")) {
    const std::string why =
        base::printable(std::string_view(reply->body).substr(0, reply->body.find('\n')), kMaxWhy);
    if (!why.empty()) return fail(code, is_own_ ? why : fmt::format("{}: {}", path_, why));
  }
  return fail(code, "{}: {} replied with HTTP status {}", path_, command_[0], header.status);
}

Result<TransportReply> ProgramTransport::read_body(const http::ReplyHeader& header) {
  if (!header.content_length) {
    return fail(ErrorCode::kInvalid, "the reply has no Content-Length");
  }
  const std::size_t size = *header.content_length;
  if (size > options_.max_reply) {
    return fail(ErrorCode::kLimit, "the reply is larger than {} bytes", options_.max_reply);
  }
  while (received_.size() < size) {
    QUARRY_TRY_ASSIGN(const std::size_t more, read_more());
    if (more == 0) return std::unexpected(ended("in the middle of its reply"));
  }
  TransportReply reply;
  const auto type = std::ranges::find_if(header.fields, [](const auto& field) {
    return http::same_name(field.first, "Content-Type");
  });
  if (type != header.fields.end()) reply.content_type = type->second;
  reply.body = received_.substr(0, size);
  received_.erase(0, size);
  return reply;
}

Result<TransportReply> ProgramTransport::exchange(const sync::ClientRequest& request) {
  const std::string text = fmt::format(
      "POST / HTTP/1.0\r\nHost: {}\r\nUser-Agent: Quarry/{}\r\nX-Fossil-Transport: SSH\r\n"
      "Content-Type: {}\r\nContent-Length: {}\r\n\r\n{}",
      host_, QUARRY_VERSION, request.content_type, request.body.size(), request.body);
  const bool was_running = pid_ > 0;
  if (!was_running) QUARRY_TRY(start());
  auto reply = attempt(text);
  // Some programs exit after each request. If the program has exited without output, start it
  // again.
  if (!reply && was_running && pid_ < 0 && !answered_) {
    QUARRY_TRY(start());
    reply = attempt(text);
  }
  return reply;
}

}  // namespace quarry::transport
