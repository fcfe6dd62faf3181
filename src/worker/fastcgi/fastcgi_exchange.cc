#include "fastcgi_exchange.h"

#include <fmt/core.h>
#include <poll.h>
#include <sched.h>
#include <sys/socket.h>
#include <sys/time.h>

#include <algorithm>
#include <array>
#include <cerrno>

#include "head_check.h"
#include "quarry/base/duration.h"
#include "quarry/base/socket.h"
#include "quarry/http/fastcgi.h"
#include "quarry/http/parameters.h"
#include "record_writer.h"
#include "stop_signal.h"

namespace quarry::worker {
namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;
namespace parameter = http::parameter;

// Size of the first peek. If the head is longer, a peek of kMaxHeadSize follows.
constexpr std::size_t kFirstPeek = std::size_t{8} << 10;
// A reply of up to this size fits into any socket's send buffer, so sending it does not block.
constexpr std::size_t kAlwaysFits = std::size_t{64} << 10;
// Maximum size of a read from a body, regardless of the declared size.
constexpr std::size_t kBodyPiece = std::size_t{1} << 20;
constexpr milliseconds kDrainTime{2000};
constexpr milliseconds kFirstByteTime{1000};
// Maximum time between two peeks at a head that arrives in pieces.
constexpr milliseconds kMaxPause{80};
// Number of peeks at a new connection before the first sleep. A web server sends its request
// immediately after it has connected. The peeks take some tens of microseconds, less than a sleep
// and a wake-up.
constexpr int kPeeksBeforeSleep = 50;

// The answers to GET_VALUES (FastCGI 1.0, section 4). The values describe a single process, because
// a connection is always served by one process.
constexpr auto kValues = std::to_array<std::pair<std::string_view, std::string_view>>({
    {FCGI_MAX_CONNS, "1"},
    {FCGI_MAX_REQS, "1"},
    {FCGI_MPXS_CONNS, "0"},
});

struct Variable {
  std::string_view name;
  std::string_view Request::*target;
};

constexpr auto kVariables = std::to_array<Variable>({
    {parameter::kRequestMethod, &Request::method},
    {parameter::kScriptName, &Request::script_name},
    {parameter::kPathInfo, &Request::path_info},
    {parameter::kRequestUri, &Request::uri},
    {parameter::kQueryString, &Request::query},
    {parameter::kContentType, &Request::content_type},
    {parameter::kContentLength, &Request::content_length},
    {parameter::kRemoteAddress, &Request::remote_address},
    {parameter::kRemoteUser, &Request::remote_user},
    {parameter::kCookie, &Request::cookie},
    {parameter::kHost, &Request::host},
});

void put(Request& request, std::string_view name, std::string_view value) {
  if (name == parameter::kHttps) request.is_https = parameter::is_https(value);
  for (const Variable& known : kVariables) {
    if (known.name == name) request.*known.target = value;
  }
}

/// Returns the reply to a GET_VALUES record with the content NAMES. The reply contains the known
/// names and their values.
std::string get_values_result(std::string_view names) {
  std::string content;
  while (const auto asked = http::take_pair(names)) {
    for (const auto& [known, value] : kValues) {
      if (known == asked->name && !content.contains(known)) {
        http::append_pair(content, known, value);
      }
    }
  }
  std::string record;
  http::append_record(record, FCGI_GET_VALUES_RESULT, FCGI_NULL_REQUEST_ID, content);
  return record;
}

bool put(FCGX_Stream* stream, std::string_view bytes) {
  constexpr std::size_t kMaxWrite = std::size_t{1} << 30;
  for (; !bytes.empty(); bytes.remove_prefix(std::min(bytes.size(), kMaxWrite))) {
    const auto size = static_cast<int>(std::min(bytes.size(), kMaxWrite));
    if (FCGX_PutStr(bytes.begin(), size, stream) != size) return false;
  }
  return true;
}

}  // namespace

Result<void> start_fastcgi() {
  if (FCGX_Init() == 0) return {};
  return fail(ErrorCode::kIo, "cannot initialize libfcgi");
}

FastCgiExchange::FastCgiExchange(base::Fd& fd, const ExchangeTimeouts& timeouts)
    : owner_(fd), fd_(fd.get()), timeouts_(timeouts) {}

FastCgiExchange::~FastCgiExchange() {
  if (is_begun_) FCGX_Free(&fcgx_, 0);
}

Result<void> FastCgiExchange::await_more(bool has_some, steady_clock::time_point deadline) {
  if (steady_clock::now() >= deadline) {
    return fail(ErrorCode::kBusy, "{} {}",
                has_some ? "the request was incomplete after" : "no request within",
                base::in_words(timeouts_.head));
  }
  // poll(2) cannot report more data, because peeked data keeps the socket readable. Therefore peek
  // again after a pause. Such pauses are rare, because web servers usually send the head at once.
  const auto left = std::chrono::duration_cast<milliseconds>(deadline - steady_clock::now());
  auto wait = std::max(milliseconds(1), left);
  if (has_some) {
    wait = std::min(wait, pause_);
    pause_ = std::min(pause_ * 2, kMaxPause);
  }
  std::array<pollfd, 2> descriptors{
      {{fd_, static_cast<short>(has_some ? POLLRDHUP : POLLIN | POLLRDHUP), 0},
       {stop_descriptor(), POLLIN, 0}}};
  // During a graceful stop, an incomplete request can continue, and a new connection gets a short
  // time to send a request.
  const bool is_ending = stop_requested();
  if (!has_some && is_ending) wait = std::min(wait, kFirstByteTime);
  const int ready =
      ::poll(descriptors.data(), has_some || is_ending ? 1 : 2, static_cast<int>(wait.count()));
  if (stop_now_requested() || (ready == 0 && !has_some && is_ending)) {
    return fail(ErrorCode::kNotFound, "the worker is stopping");
  }
  if (has_some && (descriptors[0].revents & (POLLRDHUP | POLLHUP | POLLERR)) != 0) {
    return fail(ErrorCode::kInvalid, "the connection ended in the middle of a request");
  }
  return {};
}

Result<void> FastCgiExchange::await_head() {
  seen_.resize(kFirstPeek);
  const auto deadline = steady_clock::now() + timeouts_.head;
  for (int attempts = 1;; ++attempts) {
    const ssize_t size = ::recv(fd_, seen_.data(), seen_.size(), MSG_PEEK | MSG_DONTWAIT);
    if (size == 0) return fail(ErrorCode::kNotFound, "closed");
    if (size < 0 && errno != EAGAIN && errno != EINTR) {
      return fail(ErrorCode::kNotFound, "the connection was reset");
    }
    if (size < 0 && attempts < kPeeksBeforeSleep) {
      ::sched_yield();
      continue;
    }
    if (size < 0) {
      QUARRY_TRY(await_more(false, deadline));
      continue;
    }
    const auto come = static_cast<std::size_t>(size);
    const HeadCheck check = check_head(std::string_view(seen_).substr(0, come));
    switch (check.verdict) {
      case HeadVerdict::kComplete:
        is_whole_ = check.is_whole;
        seen_.resize(come);
        return {};
      case HeadVerdict::kGetValues:
        if (steady_clock::now() >= deadline) {
          return await_more(false, deadline);
        }
        QUARRY_TRY(answer_get_values(check.size, check.content));
        continue;
      case HeadVerdict::kMalformed:
        return fail(ErrorCode::kInvalid, "not a FastCGI request");
      case HeadVerdict::kTooLarge:
        return fail(ErrorCode::kLimit, "the parameters are too long or too many");
      case HeadVerdict::kIncomplete:
        break;
    }
    if (come == seen_.size()) {
      if (come >= kMaxHeadSize)
        return fail(ErrorCode::kLimit, "the parameters are too long or too many");
      seen_.resize(kMaxHeadSize);
      continue;
    }
    QUARRY_TRY(await_more(true, deadline));
  }
}

Result<void> FastCgiExchange::answer_get_values(std::size_t size, std::string_view names) {
  const std::string answer = get_values_result(names);
  std::string taken(size, '\0');
  // Do not wait. The record has already arrived, and the send buffer has space unless the client
  // has not read earlier answers.
  if (::recv(fd_, taken.data(), size, MSG_DONTWAIT) == static_cast<ssize_t>(size) &&
      ::send(fd_, answer.data(), answer.size(), MSG_NOSIGNAL | MSG_DONTWAIT) ==
          static_cast<ssize_t>(answer.size())) {
    return {};
  }
  return fail(ErrorCode::kInvalid, "the client did not read the reply to GET_VALUES");
}

void FastCgiExchange::set_timeout(int option) {
  const timeval limit{timeouts_.read.count() / 1000, timeouts_.read.count() % 1000 * 1000};
  ::setsockopt(fd_, SOL_SOCKET, option, &limit, sizeof limit);
}

bool FastCgiExchange::is_passed_on(
    const std::function<bool(const Request& request, int connection)>& takes) const {
  const std::string params = params_of(seen_);
  Request request;
  std::string_view rest = params;
  while (const auto pair = http::take_pair(rest)) put(request, pair->name, pair->value);
  return takes(request, fd_);
}

Result<void> FastCgiExchange::read_head() {
  if (!is_whole_) set_timeout(SO_RCVTIMEO);
  // Do not pass a listening socket. Otherwise, libfcgi would itself accept another connection after
  // an invalid request.
  FCGX_InitRequest(&fcgx_, -1, 0);
  fcgx_.ipcFd = fd_;
  fcgx_.keepConnection = 1;
  if (FCGX_Accept_r(&fcgx_) != 0) {
    if (fcgx_.ipcFd < 0) owner_.release();
    return fail(ErrorCode::kInvalid, "not a FastCGI request");
  }
  is_begun_ = true;
  is_kept_ = fcgx_.keepConnection != 0;
  take_params();
  return {};
}

void FastCgiExchange::take_params() {
  request_.variables = fcgx_.envp;
  request_.has_left = [this] { return has_peer_left(); };
  for (char** entry = fcgx_.envp; *entry != nullptr; ++entry) {
    const std::string_view variable = *entry;
    const std::size_t equals = variable.find('=');
    const std::string_view name = variable.substr(0, equals);
    const std::string_view value = variable.substr(std::min(equals, variable.size() - 1) + 1);
    put(request_, name, value);
  }
}

// A stop of the process, for example by a debugger, interrupts a read with a timeout even without a
// signal handler (signal(7)). libfcgi then marks the stream as failed, but the stream is still
// usable.
bool FastCgiExchange::resume_read() {
  if (FCGX_GetError(fcgx_.in) != EINTR || stop_now_requested()) return false;
  FCGX_ClearError(fcgx_.in);
  fcgx_.in->isClosed = 0;
  return true;
}

std::size_t FastCgiExchange::take_body(char* bytes, std::size_t size) {
  std::size_t taken = 0;
  do {
    const int got = FCGX_GetStr(bytes + taken, static_cast<int>(size - taken), fcgx_.in);
    taken += static_cast<std::size_t>(std::max(got, 0));
  } while (taken < size && resume_read());
  return taken;
}

Result<void> FastCgiExchange::end_of_body(std::size_t came, std::size_t wanted) {
  if (came < wanted) {
    return fail(ErrorCode::kInvalid, "the body ended after {} of {} bytes", came, wanted);
  }
  int beyond = FCGX_GetChar(fcgx_.in);
  while (beyond < 0 && resume_read()) beyond = FCGX_GetChar(fcgx_.in);
  if (beyond >= 0) {
    return fail(ErrorCode::kInvalid, "the body is longer than the announced {} bytes", wanted);
  }
  is_drained_ = FCGX_GetError(fcgx_.in) == 0;
  return {};
}

Result<std::string> FastCgiExchange::read(std::size_t size) {
  std::string body;
  // Let the body grow as bytes arrive, so that a large declared size does not allocate memory.
  const auto append = [&body](std::string_view bytes) -> Result<void> {
    body += bytes;
    return {};
  };
  QUARRY_TRY(read_into(append, size));
  return body;
}

Result<void> FastCgiExchange::read_into(const BodySink& sink, std::size_t size) {
  std::optional<GracefulStopHeld> held;
  if (!is_whole_) held.emplace();
  std::string piece(std::min(size, kBodyPiece), '\0');
  std::size_t came = 0;
  while (came < size) {
    const std::size_t wanted = std::min(size - came, piece.size());
    const std::size_t taken = take_body(piece.data(), wanted);
    QUARRY_TRY(sink(std::string_view(piece).substr(0, taken)));
    came += taken;
    on_body_(came);
    if (taken < wanted) break;
  }
  return end_of_body(came, size);
}

bool FastCgiExchange::takes_abort() {
  http::RecordHeaderBytes record{};
  const auto whole = static_cast<ssize_t>(record.size());
  if (::recv(fd_, record.data(), record.size(), MSG_PEEK | MSG_DONTWAIT) != whole) return false;
  const auto header = http::decode({record.data(), record.size()});
  const bool is_abort =
      header && header->type == FCGI_ABORT_REQUEST && header->request_id == fcgx_.requestId;
  if (!is_abort) return false;
  return ::recv(fd_, record.data(), record.size(), MSG_DONTWAIT) == whole;
}

bool FastCgiExchange::has_peer_left() {
  // Treat a web server that has closed its sending direction as disconnected, because web servers
  // end a request with a record, not by closing this direction.
  return is_drained_ && (base::has_peer_left(fd_) || takes_abort());
}

bool FastCgiExchange::send_body(std::string_view body) {
  if (body.size() <= kAlwaysFits) return put(fcgx_.out, body);
  return FCGX_FFlush(fcgx_.out) == 0 &&
         send_stdout_records(fd_, static_cast<std::uint16_t>(fcgx_.requestId), body);
}

bool FastCgiExchange::send(const Reply& reply) {
  std::optional<GracefulStopHeld> held;
  if (reply.body.size() > kAlwaysFits || is_kept_) {
    set_timeout(SO_SNDTIMEO);
    held.emplace();
  }
  if (!is_drained_ && is_whole_) {
    // Discard the rest of the body, so that the connection can be kept. The reads do not block,
    // because the rest has already arrived.
    while (FCGX_GetChar(fcgx_.in) >= 0) continue;
    is_drained_ = true;
  }
  bool is_sent = put(fcgx_.out, header_of(reply));
  if (is_sent && request_.method != "HEAD") is_sent = send_body(reply.body);
  if (is_sent) {
    // The request ends when both streams are closed. After a failure, the streams stay open,
    // because closing them would wait again for the peer.
    FCGX_FClose(fcgx_.err);
    is_sent = FCGX_FClose(fcgx_.out) == 0;
  }
  is_kept_ = is_kept_ && is_sent;
  return is_sent;
}

std::string peer_of(int fd) {
  sockaddr_storage storage{};
  socklen_t size = sizeof storage;
  auto* address = reinterpret_cast<sockaddr*>(&storage);
  if (::getpeername(fd, address, &size) != 0) return "a disconnected client";
  const auto known = base::SocketAddress::of(address, size);
  if (known && !known->is_unix()) return known->ip();
  ucred process{};
  size = sizeof process;
  if (::getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &process, &size) != 0) return "this machine";
  return fmt::format("process {} of user {}", process.pid, process.uid);
}

void drain(int fd) {
  ::shutdown(fd, SHUT_WR);
  std::array<char, 65536> sink;
  const auto deadline = steady_clock::now() + kDrainTime;
  while (steady_clock::now() < deadline && !stop_requested()) {
    const ssize_t size = ::recv(fd, sink.data(), sink.size(), MSG_DONTWAIT);
    if (size == 0 || (size < 0 && errno != EAGAIN)) return;
    if (size > 0) continue;
    pollfd wait{fd, POLLIN, 0};
    ::poll(&wait, 1, 100);
  }
}

}  // namespace quarry::worker
