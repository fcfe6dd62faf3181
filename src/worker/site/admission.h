// Who may begin a sync session, and try to log in: what the workers of a pool know together.
//
// Each worker says on the scoreboard whose session it serves, and all remember logins there
// together. Nobody waits for anybody.
//
//   sessions   of those that are under way for one repository, or from one address, only the first
//              so many go on; the others are told to come again
//   logins     after some failures each further one has to wait: see scoreboard/login_limiter.h
//
// A /64 of IPv6 is one address.
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
  /// Of the session of the client with ADDRESS with the repository in the file REPOSITORY, which
  /// SLOT has. All but the address must outlive it.
  Admission(const AdmissionOptions& options, const scoreboard::Board& board, scoreboard::Slot& slot,
            const std::filesystem::path& repository, std::string_view address);

  /// Begins the session, for the others to see. What the client is told where it may not go on.
  std::optional<std::string> begin();

  std::chrono::seconds wait(std::string_view user) override;
  void record(bool succeeded) override;

 private:
  const AdmissionOptions& options_;
  const scoreboard::Board& board_;
  scoreboard::Slot& slot_;
  const std::filesystem::path& repository_;
  std::string address_;
  std::optional<scoreboard::LoginLimiter> limiter_;  // nothing if logins are not limited
  scoreboard::LoginLimiter::Attempt attempt_;        // that wait() was asked about last
};

}  // namespace quarry::worker
