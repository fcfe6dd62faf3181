// Sends copies of this host's repositories to hosts that join the group. Requests (see peers.h for
// the form of the answers):
//
//   list FROM              JSON: the repositories from index FROM on, as arrays POOL, NAME, PROJECT
//   copy POOL NAME         starts a copy in the folder of this process; its ID
//   size ID                `SIZE MODE`, or nothing until the copy is complete
//   read ID OFFSET COUNT   the SHA3-256 of the bytes in hex digits, then the bytes
//   end ID                 removes the copy
//
// A copy that nobody uses for a while is removed, too.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <filesystem>
#include <future>
#include <map>
#include <mutex>
#include <string>
#include <string_view>

#include "quarry/base/result.h"
#include "repositories.h"

namespace quarry::replica {

class Copies {
 public:
  /// REPOSITORIES is not owned. Removes what an earlier process has left in FOLDER. Answers have at
  /// most MAX bytes.
  Copies(Repositories& repositories, std::filesystem::path folder, std::size_t max);
  ~Copies();
  Copies(const Copies&) = delete;
  Copies& operator=(const Copies&) = delete;

  Result<std::string> answer(std::string_view verb, std::string_view rest);
  /// Removes copies that nobody uses.
  void expire();

 private:
  struct Copy {
    std::filesystem::path path;
    std::future<Result<std::int64_t>> making;  // until its size is known
    std::int64_t size = 0;
    std::chrono::steady_clock::time_point used;
  };

  Result<std::string> list(std::string_view from) const;
  Result<std::string> begin(std::string_view words);
  Result<std::string> size(Copy& copy);
  Result<std::string> read(const Copy& copy, std::string_view words) const;

  Repositories& repositories_;
  const std::filesystem::path folder_;
  const std::size_t max_;
  std::atomic<bool> is_stopping_ = false;
  std::mutex mutex_;  // guards the fields below
  std::uint64_t next_id_ = 1;
  std::map<std::string, Copy, std::less<>> copies_;
};

}  // namespace quarry::replica
