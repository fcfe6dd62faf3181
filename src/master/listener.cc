#include "quarry/master/listener.h"

#include <unistd.h>

#include <algorithm>
#include <utility>

#include "quarry/base/log.h"

namespace quarry::master {

namespace {

/// Removes the socket with NAME from INHERITED and returns it. Returns nullopt if INHERITED does
/// not contain such a socket.
std::optional<InheritedSocket> take_inherited(const std::string& name,
                                              std::vector<InheritedSocket>* inherited) {
  if (inherited == nullptr) return std::nullopt;
  const auto at = std::ranges::find(*inherited, name, &InheritedSocket::address);
  if (at == inherited->end()) return std::nullopt;
  InheritedSocket found = std::move(*at);
  inherited->erase(at);
  return found;
}

}  // namespace

std::string Listener::name_of(const base::SocketAddress& address,
                              const base::ListenOptions& options) {
  return address.str() + (options.is_ipv6_only ? " ipv6only" : "");
}

Result<Listener> Listener::open(const base::SocketAddress& address,
                                const base::ListenOptions& options,
                                std::vector<InheritedSocket>* inherited) {
  Listener listener;
  listener.asked_for_ = name_of(address, options);
  auto found = take_inherited(listener.asked_for_, inherited);
  if (found) {
    listener.fd_ = std::move(found->fd);
    listener.is_ours_ = found->is_ours;
    QUARRY_TRY(base::go_on_listening(*listener.fd_, address, options));
  } else {
    QUARRY_TRY_ASSIGN(base::Fd fd, base::listen_on(address, options));
    listener.fd_ = std::make_shared<base::Fd>(std::move(fd));
  }
  if (!address.is_unix()) {
    QUARRY_TRY_ASSIGN(listener.address_, base::local_address(*listener.fd_));
    return listener;
  }
  listener.address_ = address;
  if (found) {
    const auto changed = base::set_owner_and_mode(address.path(), options, found->file);
    // Do not return an error, because open connections still work.
    if (!changed) {
      base::log(base::LogLevel::kWarning,
                "{}: the socket gets no new connections until quarryd is restarted",
                changed.error().message);
      return listener;
    }
  }
  if (!listener.is_ours_) return listener;
  QUARRY_TRY_ASSIGN(listener.file_, base::socket_file(address.path()));
  return listener;
}

Listener::Listener(Listener&& other) noexcept
    : fd_(std::move(other.fd_)),
      asked_for_(std::move(other.asked_for_)),
      is_ours_(other.is_ours_),
      address_(other.address_),
      file_(std::exchange(other.file_, std::nullopt)) {}

Listener& Listener::operator=(Listener&& other) noexcept {
  std::swap(fd_, other.fd_);
  std::swap(asked_for_, other.asked_for_);
  std::swap(is_ours_, other.is_ours_);
  std::swap(address_, other.address_);
  std::swap(file_, other.file_);
  return *this;
}

Listener::~Listener() {
  if (!file_ || fd_.use_count() > 1) return;
  const std::string path = address_->path();
  const auto there = base::socket_file(path);
  if (there && *there == *file_) ::unlink(path.c_str());
}

}  // namespace quarry::master
