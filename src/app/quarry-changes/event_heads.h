// Provides the heads of events about change-set queues. A head contains data about the project and
// the repository of the queue.
#pragma once

#include <chrono>
#include <filesystem>
#include <map>
#include <string>
#include <utility>

#include "quarry/event/event.h"

namespace quarry::app {

/// Reads heads from the repositories, and caches them. The daemon forks, and a process that has
/// used SQLite must not fork. Therefore, a short-lived child process opens the repository.
class EventHeads {
 public:
  /// Creates a reader. FOLDER is the folder of the served repositories, or "" for a single
  /// repository.
  explicit EventHeads(std::filesystem::path folder) : folder_(std::move(folder)) {}

  /// Returns the head for the repository FILE. If FILE cannot be read, the head contains the last
  /// known data.
  const event::Head& of(const std::filesystem::path& file);
  /// Returns the email address of the repository's user LOGIN, or "" if it is unknown.
  std::string address_of(const std::filesystem::path& file, const std::string& login);

 private:
  struct CachedHead {
    event::Head head;
    std::chrono::steady_clock::time_point until;
  };
  std::string served_name(const std::filesystem::path& file) const;

  std::filesystem::path folder_;
  std::map<std::filesystem::path, CachedHead> heads_;
  /// An email address from a repository. It is cached because many change sets of one user can fail at
  /// the same time.
  struct CachedAddress {
    std::string address;
    std::chrono::steady_clock::time_point until;
  };
  std::map<std::pair<std::filesystem::path, std::string>, CachedAddress> addresses_;
};

}  // namespace quarry::app
