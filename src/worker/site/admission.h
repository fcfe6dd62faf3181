// Limits concurrent sync sessions and login attempts across all workers of a pool.
//
// Each worker publishes on the scoreboard whose session it serves, and all workers record logins
// there. No worker waits for a lock.
//
//   sessions   only a limited number per repository and per address may proceed; further clients
//              are asked to come back later
//   logins     after some failures, each further login is delayed: see scoreboard/login_limiter.h
//
// IPv6 addresses are counted by /64.
#pragma once

#include <chrono>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>

#include "quarry/scoreboard/login_limiter.h"
#include "quarry/scoreboard/scoreboard.h"
#include "quarry/sync/request.h"
#include "quarry/worker/worker_options.h"

namespace quarry::worker {

class Admission : public sync::LoginGuard {
 public:
  /// For a session of the client with ADDRESS on the repository file REPOSITORY; SLOT shows it. All
  /// arguments except ADDRESS must outlive this object.
  Admission(const AdmissionOptions& options, const scoreboard::Board& board, scoreboard::Slot& slot,
            const std::filesystem::path& repository, std::string_view address);

  /// Registers the session on the scoreboard. Returns the message for the client if it may not
  /// proceed.
  std::optional<std::string> begin();

  std::chrono::seconds wait(std::string_view user) override;
  void record(bool succeeded) override;

 private:
  const AdmissionOptions& options_;
  const scoreboard::Board& board_;
  scoreboard::Slot& slot_;
  const std::filesystem::path& repository_;
  std::string address_;
  std::optional<scoreboard::LoginLimiter> limiter_;  // nullopt if logins are not limited
  scoreboard::LoginLimiter::Attempt attempt_;        // from the last wait()
};

}  // namespace quarry::worker
