// Limits how fast passwords can be guessed. The limits are in shared memory on the pool's board;
// the workers (for syncs) and the pages process use the same limits. The limits apply to:
//
//   a pair of user and address    After some failures, each further attempt has to wait. The wait
//                                 doubles each time.
//   an address                    Each failed login from the address, of any user, spends a token.
//                                 Without a token, attempts have to wait.
//   a user of a repository        Each failed login of the user, from any address, spends a token.
//   a known pair                  If a pair has logged in before, only failures of this pair count.
//
// An IPv6 /64 counts as one address. Unknown user names are limited like existing users, so replies
// do not reveal which names exist. Users that have logged in are marked, so that a flood of names
// cannot evict them from the table.
//
// Failed logins from many addresses can use up the tokens of a user. If an address was refused for
// this reason and has waited as requested, it can spend one token more than a new address.
// Therefore, attackers who keep changing their address cannot lock the user out.
//
// The caller might not know the user name of an attempt. All such attempts from one address are
// limited together, as one pair. Their failures also spend tokens of the address.
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

/// The shared memory. Initially, everything except the random salt must be zero.
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

  /// A login attempt. The members is_counted_for_… show the limits towards which wait() has already
  /// counted the attempt.
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
  /// Returns a login attempt by USER from ADDRESS, in the repository with the file REPOSITORY.
  /// Symbolic links to a file count as the same repository as the file.
  Attempt attempt_of(std::string_view repository, std::string_view user,
                     std::string_view address) const;
  /// Returns a login attempt from ADDRESS, for callers that do not know the user name.
  Attempt attempt_of(std::string_view address) const;

  /// Returns the current time, for the functions below.
  static Tick now();

  /// Returns how long ATTEMPT has to wait. If the result is 0, the caller can check the password,
  /// and then has to call failed(), succeeded() or unchecked().
  std::chrono::seconds wait(Attempt& attempt, Tick now);
  void failed(const Attempt& attempt, Tick now);
  void succeeded(const Attempt& attempt, Tick now);
  /// Reports that the password of ATTEMPT was not checked, or that the result of the check is
  /// unknown. ATTEMPT then does not count as a failure.
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
  TokenTable other_pairs_;  // like known_pairs_; if count is 0: time of the first refusal
};

}  // namespace quarry::scoreboard
