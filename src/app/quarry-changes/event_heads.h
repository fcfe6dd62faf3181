// Provides the head of events about a queue, with the project's data.
#pragma once

#include <chrono>
#include <filesystem>
#include <map>
#include <string>
#include <utility>

#include "quarry/event/event.h"

namespace quarry::app {

/// Reads the data in a short-lived child process, because a process that has used SQLite must not
/// fork later. Results are cached for some time.
class EventHeads {
 public:
  /// FOLDER is the folder of repositories that is served, or "" if a single repository is served.
  explicit EventHeads(std::filesystem::path folder) : folder_(std::move(folder)) {}

  /// Returns the head for the repository FILE. If FILE cannot be read, the last known data is used.
  const event::Head& of(const std::filesystem::path& file);
  /// Returns the mail address of the repository's user LOGIN, or "" if there is none.
  std::string address_of(const std::filesystem::path& file, const std::string& login);

 private:
  struct CachedHead {
    event::Head head;
    std::chrono::steady_clock::time_point until;
  };
  std::string served_name(const std::filesystem::path& file) const;

  std::filesystem::path folder_;
  std::map<std::filesystem::path, CachedHead> heads_;
  /// Cached for a short time, because many change sets of one user may fail at once.
  struct CachedAddress {
    std::string address;
    std::chrono::steady_clock::time_point until;
  };
  std::map<std::pair<std::filesystem::path, std::string>, CachedAddress> addresses_;
};

}  // namespace quarry::app
