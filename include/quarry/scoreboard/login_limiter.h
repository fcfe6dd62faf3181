// Limits how fast passwords can be guessed. The workers of a pool (for syncs) and the process that
// makes its pages use the same limits, in shared memory on the pool's board. The limits apply to:
//
//   pair (a user and an address)  after some failures, each further attempt has to wait, and each
//                                 wait is twice as long as the one before
//   address                       has tokens for failures of any users
//   user (of one repository)      has tokens for failures from any addresses
//   known pair                    has logged in before; only its own failures limit it
//
// An IPv6 /64 counts as one address. User names that do not exist are limited like users, so
// replies do not reveal which names exist. Users that have logged in are marked, so that a flood of
// names cannot evict them from the table.
//
// While a user is under attack, an address that was told to wait and did wait may spend one token
// more than a new address. So attackers that keep changing their address cannot lock the user out.
//
// An attempt is normally counted after it has failed, so that several clients of one user at one
// address do not delay each other. After some failures, attempts are counted before their passwords
// are checked, so that guessing in parallel is not faster.
#pragma once

#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <string_view>

#include "quarry/scoreboard/token_table.h"

namespace quarry::scoreboard {

/// The shared memory. It must be zero at first, except for the random salt.
struct alignas(64) LoginMemory {
  std::array<std::atomic<std::uint64_t>, 2> salt;
  TokenTable::Memory users;
  TokenTable::Memory addresses;
  TokenTable::Memory known_pairs;
  TokenTable::Memory other_pairs;
};

class LoginLimiter {
 public:
  /// MEMORY must outlive the limiter. FREE_FAILURES is the number of failures of a pair that cause
  /// no wait; at least 1.
  LoginLimiter(LoginMemory& memory, std::uint64_t free_failures);

  /// A login attempt: its user and address, and what was counted before its password is checked.
  struct Attempt {
    TableKey user = 0;
    TableKey address = 0;
    TableKey pair = 0;
    TableKey known_pair = 0;
    bool is_known = false;
    bool is_counted_for_user = false;
    bool is_counted_for_address = false;
    bool is_counted_for_pair = false;
    Tally pair_before = {};
  };
  /// Returns an attempt of USER, who belongs to the repository in the file REPOSITORY.
  Attempt attempt_of(std::string_view repository, std::string_view user,
                     std::string_view address) const;

  /// Returns the current time, for the functions below.
  static Tick now();

  /// Returns how long ATTEMPT has to wait. If the result is 0, the caller may check the password
  /// and then has to call one of the three functions below.
  std::chrono::seconds wait(Attempt& attempt, Tick now);
  void failed(const Attempt& attempt, Tick now);
  void succeeded(const Attempt& attempt, Tick now);
  /// Call this if the password of ATTEMPT was not checked, or the result is unknown. The attempt
  /// does not count.
  void unchecked(const Attempt& attempt, Tick now);

 private:
  std::uint32_t user_tokens() const { return 3 * free_failures_; }
  std::uint32_t address_tokens() const { return 6 * free_failures_; }
  TableKey key_of(std::string_view kind, std::string_view text) const;
  Tick wait_for_user(const Attempt& attempt, Tick now);
  Tick wait_for_pair(Attempt& attempt, Tick now);
  template <typename Change>
  void update_pair(const Attempt& attempt, Tick now, Change change);
  void give_back(const Attempt& attempt, Tick now);

  LoginMemory& memory_;
  const std::uint32_t free_failures_;
  TokenTable users_;        // count: 1 if the user has logged in, otherwise 0
  TokenTable addresses_;    // count: always 0
  TokenTable known_pairs_;  // count: number of failures; time: time of the last attempt
  TokenTable other_pairs_;  // the same; if count is 0, time is the time of the first refusal
};

}  // namespace quarry::scoreboard
