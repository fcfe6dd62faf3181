// Limits concurrent sync sessions and login attempts across all workers of a pool.
//
// Each worker publishes its current session on the scoreboard, and all workers record logins there.
// Workers never wait for a lock.
//
//   sessions   the number per repository and per address is limited; further clients have to retry
//              later
//   logins     after some failures, each further login is delayed; see scoreboard/login_limiter.h
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
  /// Creates the admission of a session of the client ADDRESS on the repository file REPOSITORY.
  /// SLOT shows the session. All arguments except ADDRESS must outlive this object.
  Admission(const AdmissionOptions& options, const scoreboard::Board& board, scoreboard::Slot& slot,
            const std::filesystem::path& repository, std::string_view address);

  /// Registers the session on the scoreboard. If a limit is exceeded, returns the message for the
  /// client.
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
