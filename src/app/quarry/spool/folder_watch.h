// Tells of changes in a folder, as something to wait for.
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
  /// EVENTS: those of inotify(7). Where it cannot be watched nothing is told.
  FolderWatch(const std::string& folder, std::uint32_t events)
      : fd_(::inotify_init1(IN_CLOEXEC | IN_NONBLOCK)) {
    ::inotify_add_watch(fd_.get(), folder.c_str(), events);
  }
  int fd() const { return fd_.get(); }
  void forget() {
    std::array<char, 4096> events;
    while (::read(fd_.get(), events.data(), events.size()) > 0) {
    }
  }

 private:
  base::Fd fd_;
};

}  // namespace quarry::app
