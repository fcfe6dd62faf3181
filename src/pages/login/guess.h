// The passwords that a request has fossil look at, which may be wrong:
//
//   form    /login and its aliases, by a form, a query or cookies alike
//   JSON    /json/login, the same way, or in a JSON document
//   basic   the header Authorization of any page
//   change  the old password of who changes his own, in /login
//   group   that of another repository's administrator, in /setup_login_group
//
// What fossil does not tell anybody in these ways it does not look at.
#pragma once

#include <expected>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "request/page_request.h"
#include "request/refusal.h"
#include "request/target.h"

namespace quarry::pages {

struct Guess {
  enum class Kind { kForm, kJson, kBasic, kChange, kGroup };
  Kind kind = Kind::kForm;
  std::string repository;  // whose user it is
  std::string user;        // any bytes

  bool operator==(const Guess&) const = default;
};

/// Of whom VALUE is, that of a cookie by which fossil knows somebody again: PROOF/PROJECT/USER.
std::optional<std::string> user_of_cookie(std::string_view value);

/// Whether a request for TARGET may have other passwords than that of the header.
bool takes_passwords(const Target& target, const PageNames& pages);

/// Those of REQUEST for TARGET; mostly none. What could be read in two ways is refused, as is a login
/// that is too large. TRUST_REMOTE_USER: it names who the web server knows already.
std::expected<std::vector<Guess>, Refusal> guesses_in(const PageRequest& request,
                                                      const Target& target, const PageNames& pages,
                                                      bool trust_remote_user);

}  // namespace quarry::pages
