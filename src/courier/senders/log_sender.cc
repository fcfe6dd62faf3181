// Sends events to the system log, with the JSON as the message. The protocol is either syslog(3)'s
// (RFC 3164), or systemd's native journal protocol.

#include <fmt/core.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <ctime>

#include "quarry/base/fd.h"
#include "quarry/base/socket.h"
#include "senders.h"

namespace quarry::courier {
namespace {

/// Returns the time as "Mmm dd hh:mm:ss", in local time.
std::string syslog_time() {
  constexpr std::array<const char*, 12> kMonths = {"Jan", "Feb", "Mar", "Apr", "May", "Jun",
                                                   "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"};
  const std::time_t now = std::time(nullptr);
  std::tm local{};
  ::localtime_r(&now, &local);
  return fmt::format("{} {:>2} {:02}:{:02}:{:02}", kMonths[static_cast<std::size_t>(local.tm_mon)],
                     local.tm_mday, local.tm_hour, local.tm_min, local.tm_sec);
}

class LogSender final : public Sender {
 public:
  explicit LogSender(const DestinationOptions& options) : options_(options) {
    options_.socket = options.log_socket();
  }

  DeliveryResult deliver(const OutgoingEvent& outgoing) override {
    const std::string datagram = datagram_of(outgoing);
    // Reconnect once, because a restarted daemon has a new socket.
    for (int attempt = 0;; ++attempt) {
      if (!socket_) {
        const auto connected = connect();
        if (!connected) return retry_later(connected.error().message);
      }
      // A daemon that does not read for this time counts as down.
      const timeval timeout{.tv_sec = 5, .tv_usec = 0};
      ::setsockopt(socket_.get(), SOL_SOCKET, SO_SNDTIMEO, &timeout, sizeof timeout);
      if (::send(socket_.get(), datagram.data(), datagram.size(), MSG_NOSIGNAL) >= 0) return {};
      if (errno == EMSGSIZE) {
        return give_up(fmt::format("{} does not accept a message of {} bytes", options_.socket,
                                   datagram.size()));
      }
      const auto error = fail_errno(options_.socket);
      socket_.reset();
      if (attempt > 0) return retry_later(error.error().message);
    }
  }

 private:
  Result<void> connect() {
    QUARRY_TRY_ASSIGN(const auto address, base::SocketAddress::parse(options_.socket));
    socket_.reset(::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0));
    if (!socket_) return fail_errno("socket");
    if (::connect(socket_.get(), address.get(), address.size()) == 0) return {};
    auto error = fail_errno("cannot connect to {}", options_.socket);
    socket_.reset();
    return error;
  }

  std::string datagram_of(const OutgoingEvent& outgoing) const {
    const std::string& json = outgoing.message.content;  // a single line
    if (options_.type == DestinationType::kJournald) {
      return fmt::format(
          "PRIORITY={}\nSYSLOG_FACILITY={}\nSYSLOG_IDENTIFIER={}\nQUARRY_EVENT={}\n"
          "QUARRY_DELIVERY={}\nMESSAGE={}\n",
          LOG_INFO, options_.facility >> 3, options_.tag, event::type_of(outgoing.event),
          outgoing.message.id, json);
    }
    return fmt::format("<{}>{} {}[{}]: {}", options_.facility | LOG_INFO, syslog_time(),
                       options_.tag, ::getpid(), json);
  }

  DestinationOptions options_;
  base::Fd socket_;
};

}  // namespace

std::unique_ptr<Sender> make_log_sender(const DestinationOptions& options) {
  return std::make_unique<LogSender>(options);
}

}  // namespace quarry::courier
