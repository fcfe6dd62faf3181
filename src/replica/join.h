// Copies the repositories that this host lacks from another host (`quarry replica join`), in a thread.
// A copy is downloaded under a temporary name. It gets its name when it is complete, so a file that
// exists is never replaced. The copy contains the position in the stream from which replication
// continues.
#pragma once

#include <atomic>
#include <cstdint>
#include <filesystem>
#include <mutex>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "peers.h"
#include "publisher.h"
#include "quarry/base/result.h"
#include "repositories.h"

namespace quarry::replica {

class Join {
 public:
  struct Wanted {
    std::string from;  // a host; empty: any
    /// Pool and name of a repository, or nullopt for all.
    std::optional<std::pair<std::string, std::string>> repository;
  };

  /// References are not owned. MAX is the maximum size of an answer of a host, and HOST the name of
  /// this one.
  Join(Repositories& repositories, Publisher& publisher, const Peers& peers, std::string host,
       std::size_t max)
      : repositories_(repositories),
        publisher_(publisher),
        peers_(peers),
        host_(std::move(host)),
        max_(max) {}
  ~Join() { stop(); }
  Join(const Join&) = delete;
  Join& operator=(const Join&) = delete;

  /// Errors: kBusy (already running).
  Result<void> start(Wanted wanted);
  void stop();
  /// Returns `running`, `from`, `repository`, `bytes`, `total_bytes` and, at the end, `error` and
  /// `results`: an array of objects with `repository`, `result` (copied, kept, skipped or failed),
  /// `reason` and `bytes`.
  nlohmann::json status() const;

 private:
  struct Listed {
    std::string pool, name, project;
    std::string text() const { return name.empty() ? pool : pool + '/' + name; }
  };

  Result<void> run(const Wanted& wanted);
  Result<std::vector<std::string>> find_hosts(const std::string& wanted) const;
  Result<std::vector<Listed>> list(const std::string& from) const;
  Result<void> take(const std::string& from, const Listed& listed);
  Result<void> copy(const std::string& from, const Listed& listed, const Place& place);
  Result<std::int64_t> wait_for_size(const std::string& from, const std::string& id, int file);
  Result<void> download(const std::string& from, const std::string& id,
                        const std::filesystem::path& path);
  void set(const char* name, nlohmann::json value);
  void add_result(const Listed& listed, const char* result, const std::string& reason);

  Repositories& repositories_;
  Publisher& publisher_;
  const Peers& peers_;
  const std::string host_;
  const std::size_t max_;
  std::atomic<bool> is_stopping_ = false;
  mutable std::mutex mutex_;  // guards the next field
  nlohmann::json status_{{"running", false}};
  std::thread thread_;  // used only by the thread that calls start()
};

}  // namespace quarry::replica
