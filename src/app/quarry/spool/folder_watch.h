// A descriptor that becomes readable when a folder changes.
#pragma once

#include <sys/inotify.h>
#include <unistd.h>

#include <array>
#include <cstdint>
#include <string>

#include "quarry/base/fd.h"

namespace quarry::app {

class FolderWatch {
 public:
  /// EVENTS: see inotify(7). If the folder cannot be watched, there are no notifications.
  FolderWatch(const std::string& folder, std::uint32_t events)
      : fd_(::inotify_init1(IN_CLOEXEC | IN_NONBLOCK)) {
    ::inotify_add_watch(fd_.get(), folder.c_str(), events);
  }
  int fd() const { return fd_.get(); }
  void clear() {
    std::array<char, 4096> events;
    while (::read(fd_.get(), events.data(), events.size()) > 0) {
    }
  }

 private:
  base::Fd fd_;
};

}  // namespace quarry::app
