// Limits how fast passwords can be guessed. The limits are in shared memory on the pool's board;
// the workers (for syncs) and the pages process use the same limits. The limits apply to:
//
//   a pair of user and address    After some failures, each further attempt has to wait. The wait
//                                 doubles each time.
//   an address                    It has tokens for failed logins of all users.
//   a user of a repository        The user has tokens for failed logins from all addresses.
//   a known pair                  If a pair has logged in before, only failures of this pair count.
//
// An IPv6 /64 counts as one address. Unknown user names are limited like existing users, so replies
// do not reveal which names exist. Users that have logged in are marked, so that a flood of names
// cannot evict them from the table.
//
// While a user is under attack, an address that has waited as requested can spend one token more
// than a new address. So attackers who keep changing their address cannot lock the user out.
//
// A failed login of an unknown user counts for the address. It delays further attempts of unknown
// users from this address like attempts of a pair.
//
// At first, an attempt is counted after it has failed, so that several clients of one user at one
// address do not delay each other. After some failures, an attempt is counted before its password
// is checked, so that parallel guessing is not faster.
#pragma once

#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <string_view>

#include "quarry/scoreboard/token_table.h"

namespace quarry::scoreboard {

/// The shared memory. Initially, all of it must be zero, except for the random salt.
struct alignas(64) LoginMemory {
  std::array<std::atomic<std::uint64_t>, 2> salt;
  TokenTable::Memory users;
  TokenTable::Memory addresses;
  TokenTable::Memory known_pairs;
  TokenTable::Memory other_pairs;
};

class LoginLimiter {
 public:
  /// Uses MEMORY, which must outlive the limiter. FREE_FAILURES, at least 1, is the number of
  /// failures of a pair that do not cause a wait.
  LoginLimiter(LoginMemory& memory, std::uint64_t free_failures);

  /// A login attempt: its user and address, and the parts that are already counted.
  struct Attempt {
    TableKey user = 0;
    TableKey address = 0;
    TableKey pair = 0;
    TableKey known_pair = 0;
    bool has_user = true;
    bool is_known = false;
    bool is_counted_for_user = false;
    bool is_counted_for_address = false;
    bool is_counted_for_pair = false;
    Tally pair_before = {};
  };
  /// Returns an attempt of USER in the repository whose file is REPOSITORY.
  Attempt attempt_of(std::string_view repository, std::string_view user,
                     std::string_view address) const;
  /// Returns an attempt of an unknown user.
  Attempt attempt_of(std::string_view address) const;

  /// Returns the current time, for the functions below.
  static Tick now();

  /// Returns how long ATTEMPT has to wait. If the result is 0, the caller can check the password,
  /// and has to call one of the three functions below.
  std::chrono::seconds wait(Attempt& attempt, Tick now);
  void failed(const Attempt& attempt, Tick now);
  void succeeded(const Attempt& attempt, Tick now);
  /// Reports that the password of ATTEMPT was not checked, or that the result is unknown. The
  /// attempt does not count.
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
  TokenTable other_pairs_;  // same as for known_pairs_; if count is 0, time of the first refusal
};

}  // namespace quarry::scoreboard
