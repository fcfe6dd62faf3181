#include "quarry/control/channel.h"

#include <fcntl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <bit>
#include <cerrno>

namespace quarry::control {
namespace {

constexpr std::uint8_t kLayoutVersion = 1;

struct Wire {
  std::uint8_t version;
  std::uint8_t verb;
  std::uint16_t delay;
  std::uint32_t number;
};
static_assert(sizeof(Wire) == 8);

using WireBytes = std::array<char, sizeof(Wire)>;

}  // namespace

Result<std::pair<Channel, Channel>> Channel::make_pair() {
  std::array<int, 2> ends{};
  if (::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, ends.data()) != 0) {
    return fail_errno("cannot create a control channel");
  }
  return std::pair(Channel(base::Fd(ends[0])), Channel(base::Fd(ends[1])));
}

Channel Channel::of_standard_input() {
  int type = 0;
  socklen_t size = sizeof type;
  if (::getsockopt(STDIN_FILENO, SOL_SOCKET, SO_TYPE, &type, &size) != 0) return {};
  if (type != SOCK_SEQPACKET) return {};
  base::Fd channel(::fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, STDERR_FILENO + 1));
  const base::Fd nothing(::open("/dev/null", O_RDONLY | O_CLOEXEC));
  if (!channel || !nothing || ::dup2(nothing.get(), STDIN_FILENO) < 0) return {};
  return Channel(std::move(channel));
}

bool Channel::send(Message message) const {
  const auto bytes = std::bit_cast<WireBytes>(
      Wire{kLayoutVersion, static_cast<std::uint8_t>(message.verb), message.delay, message.number});
  return ::send(fd_.get(), bytes.data(), bytes.size(), MSG_DONTWAIT | MSG_NOSIGNAL) ==
         static_cast<ssize_t>(bytes.size());
}

Received Channel::receive(Message* message) const {
  WireBytes bytes{};
  // MSG_TRUNC makes recv(2) return the full length of a packet that is too long, so that the check
  // below rejects it.
  const ssize_t size = ::recv(fd_.get(), bytes.data(), bytes.size(), MSG_DONTWAIT | MSG_TRUNC);
  if (size < 0) {
    const bool is_nothing = errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR;
    return is_nothing ? Received::kNothing : Received::kClosed;
  }
  if (size == 0) return Received::kClosed;
  if (size != static_cast<ssize_t>(bytes.size())) return Received::kMalformed;
  const auto wire = std::bit_cast<Wire>(bytes);
  const auto verb = static_cast<Verb>(wire.verb);
  const bool is_known = verb >= Verb::kBackoffice && verb <= Verb::kPeerSucceeded;
  const bool has_good_delay = wire.delay == 0 || verb == Verb::kBackoffice || verb == Verb::kEvents;
  if (wire.version != kLayoutVersion || !has_good_delay || !is_known) return Received::kMalformed;
  *message = Message{verb, wire.number, wire.delay};
  return Received::kMessage;
}

}  // namespace quarry::control
