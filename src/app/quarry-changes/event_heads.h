// What events say of the project that a queue belongs to.
#pragma once

#include <chrono>
#include <filesystem>
#include <map>
#include <string>
#include <utility>

#include "quarry/event/event.h"

namespace quarry::app {

/// Reads it in a process of its own, which ends at once: SQLite must not have been open in one that
/// forks. It is read anew after a while.
class EventHeads {
 public:
  /// FOLDER: that the repositories are served from; "": there is one.
  explicit EventHeads(std::filesystem::path folder) : folder_(std::move(folder)) {}

  /// Of the repository FILE. Where it cannot be read, what is known without that.
  const event::Head& of(const std::filesystem::path& file);
  /// Where LOGIN, of that repository, may be written to; empty: nowhere.
  std::string address_of(const std::filesystem::path& file, const std::string& login);

 private:
  struct Known {
    event::Head head;
    std::chrono::steady_clock::time_point until;
  };
  std::string served_name(const std::filesystem::path& file) const;

  std::filesystem::path folder_;
  std::map<std::filesystem::path, Known> known_;
  /// For moments alone: many may fail at once.
  struct Address {
    std::string address;
    std::chrono::steady_clock::time_point until;
  };
  std::map<std::pair<std::filesystem::path, std::string>, Address> addresses_;
};

}  // namespace quarry::app
