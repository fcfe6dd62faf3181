// The email address of a user. As in fossil, the address that the user confirmed as a subscriber
// comes first, then the address that the administrator entered (user.info).
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "quarry/base/result.h"

namespace quarry::repository {

class Repository;

/// Returns whether TEXT is name@domain.tld, without characters that are special in a header or a
/// shell.
bool is_mail_address(std::string_view text);
/// Returns the first address in TEXT, or an empty string if there is none.
std::string mail_address_in(std::string_view text);

/// Returns the address of the user LOGIN. Returns an empty string if the user does not exist, is
/// not allowed to read check-ins, has opted out, or has not confirmed the address. Use inside a
/// Snapshot. Errors: kIo, kCorrupt.
Result<std::string> personal_address(Repository& repository, std::string_view login);

/// Returns the users whose passwords fossil compares when a client logs in as NAME: the user NAME,
/// and the users with the address NAME in user.info. Stops after LIMIT users. Versions of fossil
/// differ in the addresses that they find, so the result can include users that fossil skips. Use
/// inside a Snapshot. Errors: kIo, kCorrupt.
Result<std::vector<std::string>> users_for_login(Repository& repository, std::string_view name,
                                                 std::size_t limit);

}  // namespace quarry::repository
