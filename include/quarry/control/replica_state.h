// The state of quarry-replica, in the file `state` of its folder. quarry-replica writes the file about
// once a second. Workers read it for ping.path?max_lag, and before they store a push. So they do not
// have to connect to a process that might be busy.
//
//   LAG AWAY REASON\n     LAG in milliseconds, AWAY 0 or 1, REASON empty if this host is up to date
#pragma once

#include <chrono>
#include <filesystem>
#include <string>

namespace quarry::control {

struct ReplicaState {
  /// Age of the oldest message of the stream that this host has not applied.
  std::chrono::milliseconds lag{0};
  /// Whether a push cannot succeed, because the servers of the stream do not answer.
  bool is_away = false;
  /// Why the lag is unknown, or empty.
  std::string reason = {};

  /// Returns the contents of the file.
  std::string text() const;
  /// Reads the file PATH. If the file does not exist, or is not current, sets only `reason`.
  static ReplicaState read(const std::filesystem::path& path);
};

}  // namespace quarry::control
