// Finds the passwords in a request that fossil will check. Each such password might be a guess:
//
//   form    /login, under each of its names and aliases, in a form, a query or cookies
//   JSON    /json/login, in the same places or in a JSON document
//   basic   the Authorization header of any page
//   change  the old password when a user changes it, in /login
//   group   the password of another repository's administrator, in /setup_login_group
//   hidden  a password was not found, but the reply might show that fossil has found one
//
// Fossil also accepts a user and password in the parameters resid and token of any page. Such a
// request is refused, because the reply would not show whether the password was right. Fossil does
// not check any other passwords.
//
// Two parsers might interpret one message differently. Therefore fossil gets the parameters of
// these pages as they were parsed here. A multipart form is passed on unchanged, or refused if it
// could be parsed in two ways.
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
  enum class Kind { kForm, kJson, kBasic, kChange, kGroup, kHidden };
  Kind kind = Kind::kForm;
  std::string repository = {};  // the repository whose user table contains the user; "" if hidden
  std::string user = {};        // any bytes, such as an e-mail address; "" if hidden
  /// Text of a reply that shows a wrong password, or "" if only the status shows it.
  std::string_view sign = {};

  bool operator==(const Guess&) const = default;
};

/// Returns the user in VALUE, a fossil login cookie of the form PROOF/PROJECT/USER.
std::optional<std::string> user_of_cookie(std::string_view value);

/// Returns whether REQUEST for TARGET can contain a password even without a body, cookies and an
/// Authorization header.
bool may_have_password(const PageRequest& request, const Target& target, const PageNames& pages);

/// Returns the guesses in REQUEST for TARGET, usually only a hidden guess. Replaces the parameters
/// of REQUEST with the parsed parameters. Refuses ambiguous requests and oversized logins. If
/// TRUST_REMOTE_USER, the web server has already authenticated REMOTE_USER.
std::expected<std::vector<Guess>, Refusal> guesses_in(PageRequest& request, const Target& target,
                                                      const PageNames& pages,
                                                      bool trust_remote_user);

}  // namespace quarry::pages
