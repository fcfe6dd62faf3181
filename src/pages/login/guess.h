// Finds the passwords in a request that fossil will check. Each such password might be a guess:
//
//   form    /login and its aliases, in a form, a query or cookies
//   JSON    /json/login, in the same places or in a JSON document
//   basic   the Authorization header of any page
//   change  the old password when a user changes it, in /login
//   group   the password of another repository's administrator, in /setup_login_group
//
// Fossil does not check any other passwords.
#pragma once

#include <expected>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "request/page_request.h"
#include "request/target.h"

namespace quarry::pages {

struct Guess {
  enum class Kind { kForm, kJson, kBasic, kChange, kGroup };
  Kind kind = Kind::kForm;
  std::string repository;  // the repository whose user table contains the user
  std::string user;        // any bytes

  bool operator==(const Guess&) const = default;
};

/// Returns the user in VALUE, a login cookie of fossil: PROOF/PROJECT/USER.
std::optional<std::string> user_of_cookie(std::string_view value);

/// Returns whether a request for TARGET can contain passwords outside the Authorization header.
bool takes_passwords(const Target& target, const PageNames& pages);

/// Returns the passwords in REQUEST for TARGET. Most requests do not contain passwords. Refuses
/// ambiguous requests and oversized logins. If TRUST_REMOTE_USER, the web server has already
/// authenticated REMOTE_USER.
std::expected<std::vector<Guess>, Refusal> guesses_in(const PageRequest& request,
                                                      const Target& target, const PageNames& pages,
                                                      bool trust_remote_user);

}  // namespace quarry::pages
