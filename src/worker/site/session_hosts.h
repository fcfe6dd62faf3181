// The group of hosts of a replicated pool, for one sync session.
#pragma once

#include <optional>
#include <string>

#include "quarry/control/publication.h"
#include "quarry/repository/repository.h"
#include "quarry/scoreboard/scoreboard.h"
#include "quarry/sync/request.h"
#include "quarry/worker/worker_options.h"

namespace quarry::worker {

class SessionHosts final : public sync::HostGroup {
 public:
  /// NAME is the repository's name in POOL. CONFIRMED is the last state of the repository that other
  /// hosts have confirmed, or 0. All arguments must outlive this object.
  SessionHosts(const ReplicationOptions& options, const std::string& pool, const std::string& name,
               repository::Repository& repository, std::uint64_t& confirmed, scoreboard::Slot& slot)
      : options_(options),
        pool_(pool),
        name_(name),
        repository_(repository),
        confirmed_(confirmed),
        slot_(slot) {}

  const std::string& host() const override { return options_.host; }
  std::string obstacle() override;
  void wait(std::uint64_t sequence) override;
  Result<std::optional<repository::ReplicaPosition>> publish(
      const sync::SessionFigures& figures) override;

 private:
  const ReplicationOptions& options_;
  const std::string& pool_;
  const std::string& name_;
  repository::Repository& repository_;
  std::uint64_t& confirmed_;
  scoreboard::Slot& slot_;
};

}  // namespace quarry::worker
