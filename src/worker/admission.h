// Who may begin a sync session, and try to log in: what the workers of a pool know together.
//
// Each worker says on the scoreboard whose session it serves and what it remembers of logins, and
// reads there what the others say. Nobody waits for anybody, and what one forgets the others know.
//
//   sessions   of those that are under way for one repository, or from one address, only the first
//              so many go on; the others are told to come again
//   logins     after some failures each further one has to wait, twice as long each time: those of
//              one user from one address; with more patience, those of everybody from one address.
//              Where one user's come from many addresses, each of these has to wait from its first
//              on. Who has logged in from his address lately is held up by nobody else's failures,
//              and who has not failed there by nobody's at other addresses. A /64 of IPv6 is one
//              address.
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <string_view>

#include "quarry/scoreboard/scoreboard.h"
#include "quarry/sync/server_session.h"
#include "quarry/worker/worker.h"

namespace quarry::worker {

class Admission : public sync::LoginGuard {
 public:
  /// Of the session of the client with ADDRESS, which SLOT has. All but the address must outlive
  /// it.
  Admission(const AdmissionOptions& options, const scoreboard::Board& board, scoreboard::Slot& slot,
            std::string_view address);

  /// Begins the session, for the others to see. What the client is told where it may not go on.
  std::optional<std::string> begin();

  std::chrono::seconds wait(std::string_view user) override;
  void tell(std::string_view user, bool succeeded) override;

 private:
  const AdmissionOptions& options_;
  const scoreboard::Board& board_;
  scoreboard::Slot& slot_;
  std::string address_;
  std::int64_t last_success_ = 0;  // of whom wait() was asked about, from here, with any worker
};

}  // namespace quarry::worker
