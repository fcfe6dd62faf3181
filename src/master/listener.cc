#include <fmt/core.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <utility>

#include "quarry/master/master.h"

namespace quarry::master {

namespace {

/// The socket that was bound to ADDRESS before; nothing if there is not.
std::optional<InheritedSocket> take_inherited(const std::string& address,
                                              std::vector<InheritedSocket>* inherited) {
  if (inherited == nullptr) return std::nullopt;
  const auto at = std::ranges::find(*inherited, address, &InheritedSocket::address);
  if (at == inherited->end()) return std::nullopt;
  InheritedSocket found = std::move(*at);
  inherited->erase(at);
  return found;
}

}  // namespace

base::Result<Listener> Listener::open(const base::SocketAddress& address,
                                      const base::ListenOptions& options,
                                      std::vector<InheritedSocket>* inherited) {
  Listener listener;
  listener.asked_for_ = address.str();
  if (auto found = take_inherited(listener.asked_for_, inherited)) {
    listener.fd_ = std::move(found->fd);
    listener.is_ours_ = found->is_ours;
    QUARRY_TRY(base::go_on_listening(listener.fd_, address, options));
  } else {
    QUARRY_TRY_ASSIGN(listener.fd_, base::listen_on(address, options));
  }
  if (!address.is_unix()) {
    QUARRY_TRY_ASSIGN(listener.address_, base::local_address(listener.fd_));
    return listener;
  }
  listener.address_ = address;
  if (!listener.is_ours_) return listener;
  struct stat status {};
  if (::lstat(address.path().c_str(), &status) != 0) {
    return base::fail_errno(fmt::format("cannot look at {}", address.path()));
  }
  listener.path_ = address.path();
  listener.device_ = status.st_dev;
  listener.inode_ = status.st_ino;
  return listener;
}

Listener::Listener(Listener&& other) noexcept
    : fd_(std::move(other.fd_)),
      asked_for_(std::move(other.asked_for_)),
      is_ours_(other.is_ours_),
      address_(other.address_),
      path_(std::exchange(other.path_, {})),
      device_(other.device_),
      inode_(other.inode_) {}

Listener& Listener::operator=(Listener&& other) noexcept {
  std::swap(fd_, other.fd_);
  std::swap(asked_for_, other.asked_for_);
  std::swap(is_ours_, other.is_ours_);
  std::swap(address_, other.address_);
  std::swap(path_, other.path_);
  std::swap(device_, other.device_);
  std::swap(inode_, other.inode_);
  return *this;
}

Listener::~Listener() {
  if (path_.empty()) return;
  struct stat status {};
  const bool is_ours = ::lstat(path_.c_str(), &status) == 0 && S_ISSOCK(status.st_mode) &&
                       status.st_dev == device_ && status.st_ino == inode_;
  if (is_ours) ::unlink(path_.c_str());
}

}  // namespace quarry::master
