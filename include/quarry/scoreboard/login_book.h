// Who may try to log in now, by what a pool remembers of logins (login_memory.h): its workers, of
// whom syncs ask that, and who has its pages made together.
//
//   a pair (a user at an address)   fails a few times for nothing; then each further try has to
//                                   wait, twice as long each time
//   an address                      that fails more often, whatever the names, has to wait too
//   a user (of one repository)      who fails more often, from whatever addresses, is under attack:
//                                   addresses from which he has not logged in take turns
//
// A pair that has logged in before is known, and held up by nothing but its own failures. The right
// password from an address that is not known must have a chance while others guess from many: turns
// are given to classes of networks, of which each has one in kTurn, and where a class is asked for
// more, only who has come before and waited gets it. So guessers who change their addresses all the
// time are not looked at, and those from some networks hold up nobody from others. Which networks
// share a class changes every few minutes.
//
// A try counts when it has failed, so that the many clients that one user may have at an address do
// not hold up each other. Where there were failures enough already it counts before it is looked
// at, so that tries at the same time with several workers are not had for the price of one.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>

#include "quarry/scoreboard/login_memory.h"

namespace quarry::scoreboard {

class LoginBook {
 public:
  /// MEMORY must outlive it. ALLOWED, at least 1: failures of a pair that cost no time.
  LoginBook(LoginMemory& memory, std::uint64_t allowed);

  /// Who tries to log in, and from where; and what of it has been counted before it was looked at.
  struct Try {
    LoginKey user = 0;
    LoginKey address = 0;
    LoginKey pair = 0;
    LoginKey wide_network = 0;
    bool counts_for_pair = false;
    bool counts_for_address = false;
    bool counts_for_user = false;
    // What its pair's word was, and was made, where that counts.
    std::uint64_t pair_before = 0;
    std::uint64_t pair_counted = 0;
  };
  /// USER is one of the repository in the file REPOSITORY.
  Try try_of(std::string_view repository, std::string_view user, std::string_view address) const;

  /// The time that the others want to be told.
  static Tick now();

  /// How long TRIED has to wait at NOW; 0: it goes on, and one of the others is to be called.
  std::chrono::seconds wait(Try& tried, Tick now);
  void failed(const Try& tried, Tick now);
  void succeeded(const Try& tried, Tick now);
  /// TRIED was not looked at after all, or nobody knows what came of it: as if it had never been.
  void passed_by(const Try& tried, Tick now);

 private:
  LoginKey key_of(std::string_view kind, std::string_view text) const;
  /// The word with the failures of the pair, where it is known.
  std::atomic<std::uint64_t>* known_failures(const Try& tried, Tick now);
  bool is_under_attack(const Try& tried, Tick now) const;
  void take_back(const Try& tried, Tick now);
  LoginKey turn_of(const Try& tried, Tick now) const;
  Tick wait_for_turn(const Try& tried, Tick now);

  LoginMemory& memory_;
  const std::uint32_t allowed_;
  LeakySketch<65536> users_;
  LeakySketch<65536> addresses_;
  LeakySketch<4096> turns_;
  RecentKeys asked_;
  KnownPairs known_;
  FailedPairs failed_;
};

}  // namespace quarry::scoreboard
