#include "quarry/base/listen_queue.h"

#include <linux/inet_diag.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <linux/sock_diag.h>
#include <linux/unix_diag.h>
#include <netinet/in.h>
#include <sys/stat.h>
#include <sys/time.h>

#include <cstring>

#include "quarry/base/fd.h"

namespace quarry::base {
namespace {

constexpr std::uint32_t kTcpListen = 10;  // TCP_LISTEN; its header conflicts with the kernel's
// The kernel answers within send(2), so this timeout is only a precaution.
constexpr timeval kNetlinkTimeout{0, 100'000};

template <typename Query>
struct Question {
  nlmsghdr header{};
  Query query{};
};

/// The kernel's answer, a single message.
class Answer {
 public:
  template <typename Query>
  explicit Answer(Question<Query> question) {
    question.header.nlmsg_len = sizeof question;
    question.header.nlmsg_type = SOCK_DIAG_BY_FAMILY;
    question.header.nlmsg_flags = NLM_F_REQUEST;
    const Fd netlink(::socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_SOCK_DIAG));
    if (!netlink) return;
    ::setsockopt(netlink.get(), SOL_SOCKET, SO_RCVTIMEO, &kNetlinkTimeout, sizeof kNetlinkTimeout);
    if (::send(netlink.get(), &question, sizeof question, 0) < 0) return;
    const ssize_t got = ::recv(netlink.get(), bytes_.data(), bytes_.size(), 0);
    if (got > 0) size_ = static_cast<std::size_t>(got);
  }

  /// Copies the fixed part of the answer to MESSAGE. Returns false if the answer is another kind of
  /// message, such as an error.
  template <typename Message>
  bool read(Message& message) const {
    nlmsghdr header{};
    if (size_ < NLMSG_HDRLEN + sizeof message) return false;
    std::memcpy(&header, bytes_.data(), sizeof header);
    if (header.nlmsg_type != SOCK_DIAG_BY_FAMILY || header.nlmsg_len > size_) return false;
    std::memcpy(&message, bytes_.data() + NLMSG_HDRLEN, sizeof message);
    return true;
  }

  /// Copies the attribute TYPE, which follows FIXED bytes of the message.
  template <typename Attribute>
  bool read_attribute(std::size_t fixed, int type, Attribute& attribute) const {
    std::size_t at = NLMSG_HDRLEN + NLMSG_ALIGN(fixed);
    while (at + sizeof(rtattr) <= size_) {
      rtattr head{};
      std::memcpy(&head, bytes_.data() + at, sizeof head);
      if (head.rta_len < sizeof head || at + head.rta_len > size_) return false;
      if (head.rta_type == type && head.rta_len >= RTA_LENGTH(sizeof attribute)) {
        std::memcpy(&attribute, bytes_.data() + at + RTA_LENGTH(0), sizeof attribute);
        return true;
      }
      at += RTA_ALIGN(head.rta_len);
    }
    return false;
  }

 private:
  std::array<char, 1024> bytes_{};
  std::size_t size_ = 0;
};

}  // namespace

ListenQueue ListenQueue::of(int fd) {
  ListenQueue queue;
  sockaddr_storage local{};
  socklen_t size = sizeof local;
  struct stat status {};
  if (::getsockname(fd, reinterpret_cast<sockaddr*>(&local), &size) != 0) return queue;
  if (::fstat(fd, &status) != 0) return queue;
  queue.family_ = local.ss_family;
  queue.inode_ = static_cast<std::uint32_t>(status.st_ino);
  if (local.ss_family == AF_INET) {
    sockaddr_in address{};
    std::memcpy(&address, &local, sizeof address);
    queue.port_ = address.sin_port;
    queue.address_[0] = address.sin_addr.s_addr;
  } else if (local.ss_family == AF_INET6) {
    sockaddr_in6 address{};
    std::memcpy(&address, &local, sizeof address);
    queue.port_ = address.sin6_port;
    std::memcpy(queue.address_.data(), &address.sin6_addr, sizeof address.sin6_addr);
  }
  return queue;
}

std::optional<QueueLength> ListenQueue::length() const {
  if (family_ == AF_UNIX) return unix_length();
  if (family_ == AF_INET || family_ == AF_INET6) return tcp_length();
  return std::nullopt;
}

std::optional<QueueLength> ListenQueue::unix_length() const {
  Question<unix_diag_req> question;
  question.query.sdiag_family = AF_UNIX;
  question.query.udiag_states = ~0U;
  question.query.udiag_ino = inode_;
  question.query.udiag_show = UDIAG_SHOW_RQLEN;
  question.query.udiag_cookie[0] = question.query.udiag_cookie[1] = INET_DIAG_NOCOOKIE;
  const Answer answer(question);
  unix_diag_msg message{};
  unix_diag_rqlen queue{};
  if (!answer.read(message) || message.udiag_ino != inode_ ||
      !answer.read_attribute(sizeof message, UNIX_DIAG_RQLEN, queue)) {
    return std::nullopt;
  }
  return QueueLength{queue.udiag_rqueue, queue.udiag_wqueue};
}

std::optional<QueueLength> ListenQueue::tcp_length() const {
  Question<inet_diag_req_v2> question;
  question.query.sdiag_family = static_cast<std::uint8_t>(family_);
  question.query.sdiag_protocol = IPPROTO_TCP;
  question.query.idiag_states = 1U << kTcpListen;
  question.query.id.idiag_sport = port_;
  std::memcpy(question.query.id.idiag_src, address_.data(), sizeof address_);
  question.query.id.idiag_cookie[0] = question.query.id.idiag_cookie[1] = INET_DIAG_NOCOOKIE;
  const Answer answer(question);
  inet_diag_msg message{};
  if (!answer.read(message) || message.idiag_state != kTcpListen) return std::nullopt;
  return QueueLength{message.idiag_rqueue, message.idiag_wqueue};
}

}  // namespace quarry::base
