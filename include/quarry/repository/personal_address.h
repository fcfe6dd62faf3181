// The email address of a user, found as fossil does: the address that the user confirmed as a
// subscriber, or the one that the administrator entered (user.info).
#pragma once

#include <string>
#include <string_view>

#include "quarry/base/result.h"

namespace quarry::repository {

class Repository;

/// Whether TEXT is name@domain.tld, without characters that are special in a header or a shell.
bool is_mail_address(std::string_view text);
/// The first address in TEXT, or an empty string.
std::string mail_address_in(std::string_view text);

/// The address of the user LOGIN. Empty if the user does not exist, may not read check-ins, has
/// opted out, or has not confirmed the address. Use inside a Snapshot. Errors: kIo, kCorrupt.
base::Result<std::string> personal_address(Repository& repository, std::string_view login);

}  // namespace quarry::repository
