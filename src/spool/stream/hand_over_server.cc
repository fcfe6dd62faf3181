// The server of a hand-over. The server is a single thread with poll(2). Each round reads from
// clients, appends all complete requests, and answers them. Requests that arrive during a sync are
// appended in the next round.
#include <fmt/core.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <climits>
#include <list>
#include <system_error>
#include <utility>
#include <vector>

#include "hand_over_frames.h"
#include "quarry/base/socket.h"
#include "quarry/spool/hand_over.h"
#include "threading.h"

namespace quarry::spool {
namespace {

using base::Fd;

// Maximum number of bytes per client and round.
constexpr std::size_t kReadAtOnce = std::size_t{64} << 10;

/// A connection. The server reads a request, appends it, and writes the answer, repeatedly.
struct Client {
  Fd fd;
  TimePoint deadline;
  std::string request;       // received part of the frame
  std::size_t length = 0;    // length of the whole frame; 0: unknown
  bool is_admitted = false;  // whether admitted_ includes the request
  std::string answer;        // the part that is not written yet
  bool is_gone = false;

  bool is_whole() const { return length > 0 && request.size() == length; }
  /// Returns whether the client waits for memory. While a client waits, the server does not read
  /// from this client, and the client's timeout does not apply.
  bool waits() const { return length > 0 && !is_admitted; }
  short events() const {
    if (!answer.empty()) return POLLOUT;
    // While a client waits, poll only for hang-ups, which poll(2) always reports.
    return waits() ? short{0} : short{POLLIN};
  }
};

class Loop final : public HandOverServer {
 public:
  Loop(Stream& stream, Fd listener, Fd wake, Reporter reporter, const HandOverOptions& options)
      : stream_(stream),
        listener_(std::move(listener)),
        wake_(std::move(wake)),
        reporter_(std::move(reporter)),
        options_(options),
        thread_([this] { run(); }) {}
  ~Loop() override {
    const std::uint64_t one = 1;
    (void)!::write(wake_.get(), &one, sizeof one);
    thread_.join();
  }
  Loop(const Loop&) = delete;
  Loop& operator=(const Loop&) = delete;

 private:
  void run();
  bool round();
  int until_deadline() const;
  void accept_some();
  void admit(Client& client);
  void serve(Client& client, short events);
  void receive(Client& client);
  bool begin_request(Client& client);
  void append_whole();
  void answer(Client& client, const Result<std::uint64_t>& first_id);
  void write(Client& client);
  void drop(Client& client, const std::string& why);
  void sweep();

  Stream& stream_;
  Fd listener_;
  Fd wake_;
  Reporter reporter_;
  HandOverOptions options_;
  std::list<Client> clients_;
  std::size_t admitted_ = 0;  // bytes
  TimePoint next_accept_{};   // after an error of accept(): time of the next attempt
  Thread thread_;
};

void Loop::run() {
  while (round()) {
  }
}

/// Returns the timeout for poll(2) in milliseconds: until the next client times out, or until
/// connections can be accepted again after an error. -1 means no timeout.
int Loop::until_deadline() const {
  TimePoint first = TimePoint::max();
  for (const Client& one : clients_) {
    if (!one.waits()) first = std::min(first, one.deadline);
  }
  if (next_accept_ > now()) first = std::min(first, next_accept_);
  if (first == TimePoint::max()) return -1;
  const auto left = std::chrono::ceil<milliseconds>(first - now()).count();
  return static_cast<int>(std::clamp<std::int64_t>(left, 0, INT_MAX));
}

/// Runs one round. Returns false if the server should stop.
bool Loop::round() {
  for (Client& one : clients_) {
    if (one.waits()) admit(one);
  }
  const bool has_room = clients_.size() < options_.max_clients && now() >= next_accept_;
  std::vector<pollfd> polled{
      {.fd = wake_.get(), .events = POLLIN, .revents = 0},
      {.fd = has_room ? listener_.get() : -1, .events = POLLIN, .revents = 0}};
  for (const Client& one : clients_) {
    polled.push_back({.fd = one.fd.get(), .events = one.events(), .revents = 0});
  }
  if (::poll(polled.data(), polled.size(), until_deadline()) < 0) {
    if (errno == EINTR) return true;
    reporter_(fmt::format("hand-over: stopped: poll: {}", std::generic_category().message(errno)));
    return false;
  }
  if (polled[0].revents != 0) return false;
  std::size_t index = 2;
  for (Client& one : clients_) serve(one, polled[index++].revents);
  append_whole();
  sweep();
  if (polled[1].revents != 0) accept_some();
  return true;
}

void Loop::accept_some() {
  while (clients_.size() < options_.max_clients) {
    Fd fd(::accept4(listener_.get(), nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC));
    if (fd) {
      clients_.push_back(
          {.fd = std::move(fd), .deadline = after(options_.time_out), .request = {}, .answer = {}});
      continue;
    }
    if (errno == EINTR || errno == ECONNABORTED) continue;
    if (errno == EAGAIN) return;
    // Pause after an error, for example if the limit of open files is reached. The listening socket
    // stays readable, so the loop would be busy otherwise.
    reporter_(fmt::format("hand-over: accept: {}", std::generic_category().message(errno)));
    next_accept_ = after(milliseconds(100));
    return;
  }
}

/// Lets CLIENT send its request if the memory limit permits. The length of the request must be
/// known.
void Loop::admit(Client& client) {
  if (admitted_ + client.length > options_.max_request_bytes) return;
  client.is_admitted = true;
  admitted_ += client.length;
  client.deadline = after(options_.time_out);
}

/// Handles EVENTS on CLIENT's connection.
void Loop::serve(Client& client, short events) {
  if (!client.answer.empty()) {
    if (events != 0) write(client);
  } else if ((events & POLLIN) != 0) {
    receive(client);
  } else if ((events & (POLLHUP | POLLERR)) != 0) {
    client.is_gone = true;
  }
  // Check the deadline only if poll(2) has reported no event, because data might have arrived in
  // time while this thread was waiting for the disk.
  if (events != 0 || client.is_gone || client.waits() || now() < client.deadline) return;
  if (client.request.empty() && client.answer.empty()) {
    client.is_gone = true;  // an idle connection is closed without an error
  } else {
    drop(client, "timeout while reading a request");
  }
}

void Loop::receive(Client& client) {
  std::array<char, kReadAtOnce> buffer;
  const std::size_t wanted = client.length > 0 ? client.length : kFrameHeader;
  const std::size_t max = std::min(buffer.size(), wanted - client.request.size());
  const ssize_t count = ::recv(client.fd.get(), buffer.data(), max, 0);
  if (count < 0 && (errno == EAGAIN || errno == EINTR)) return;
  if (count <= 0) {
    client.is_gone = true;
    return;
  }
  if (client.request.empty()) client.deadline = after(options_.time_out);
  client.request.append(buffer.data(), static_cast<std::size_t>(count));
  if (client.length == 0 && client.request.size() == kFrameHeader && !begin_request(client)) {
    drop(client, "the request is too long or empty");
  }
}

/// Decodes the length of CLIENT's request. Returns false if the length is invalid.
bool Loop::begin_request(Client& client) {
  const std::size_t body = body_length(client.request);
  if (body == 0 || body > kMaxHandOver) return false;
  client.length = kFrameHeader + body;
  admit(client);
  return true;
}

/// Appends and answers all complete requests.
void Loop::append_whole() {
  std::vector<NewMessage> all;
  std::vector<std::pair<Client*, std::size_t>> served;  // with number of messages
  for (Client& one : clients_) {
    if (one.is_gone || !one.is_whole() || !one.answer.empty()) continue;
    if (base::has_peer_left(one.fd.get())) {
      one.is_gone = true;  // do not store: the client repeats its request
      continue;
    }
    auto messages = decode_request(std::string_view(one.request).substr(kFrameHeader));
    if (!messages) {
      drop(one, "invalid request");
      continue;
    }
    served.emplace_back(&one, messages->size());
    std::ranges::move(*messages, std::back_inserter(all));
  }
  if (served.empty()) return;
  const Result<std::uint64_t> first = stream_.append(all);
  std::uint64_t id = first.value_or(0);
  for (const auto& [client, count] : served) {
    answer(*client, first ? Result<std::uint64_t>(id) : first);
    id += count;
  }
}

void Loop::answer(Client& client, const Result<std::uint64_t>& first_id) {
  client.answer = answer_frame(first_id);
  client.deadline = after(options_.time_out);
  write(client);
}

void Loop::write(Client& client) {
  const ssize_t count =
      ::send(client.fd.get(), client.answer.data(), client.answer.size(), MSG_NOSIGNAL);
  if (count < 0) {
    client.is_gone = errno != EAGAIN && errno != EINTR;
    return;
  }
  client.answer.erase(0, static_cast<std::size_t>(count));
  if (!client.answer.empty()) return;
  admitted_ -= std::exchange(client.length, 0);
  client.is_admitted = false;
  client.request = {};
  client.deadline = after(options_.time_out);
}

void Loop::drop(Client& client, const std::string& why) {
  client.is_gone = true;
  reporter_("hand-over: client disconnected: " + why);
}

/// Removes disconnected clients.
void Loop::sweep() {
  for (const Client& one : clients_) {
    if (one.is_gone && one.is_admitted) admitted_ -= one.length;
  }
  clients_.remove_if([](const Client& one) { return one.is_gone; });
}

}  // namespace

Result<std::unique_ptr<HandOverServer>> HandOverServer::start(Stream& stream, Fd listener,
                                                              Reporter reporter,
                                                              const HandOverOptions& options) {
  if (options.max_clients < 1 || options.max_request_bytes < kMaxHandOver + kFrameHeader ||
      options.time_out < milliseconds(1)) {
    return fail(ErrorCode::kInvalid,
                "hand-over: the options must allow at least 1 client, requests of {} "
                "bytes, and a timeout of 1 ms",
                kMaxHandOver + kFrameHeader);
  }
  Fd wake(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  if (!wake) return fail_errno("eventfd");
  try {
    return std::make_unique<Loop>(stream, std::move(listener), std::move(wake), std::move(reporter),
                                  options);
  } catch (const std::system_error& error) {
    return fail(ErrorCode::kIo, "cannot start a thread for hand-overs: {}", error.what());
  }
}

}  // namespace quarry::spool
