// Where mail for one user of a repository goes, as fossil has it: the address that he has confirmed
// as a subscriber, or the one in what the administrator wrote of him (user.info).
#pragma once

#include <string>
#include <string_view>

#include "quarry/base/result.h"

namespace quarry::repository {

class Repository;

/// Whether TEXT is name@domain.tld, of characters that mean nothing to a header or a shell.
bool is_mail_address(std::string_view text);
/// The first address in TEXT; empty: there is none.
std::string mail_address_in(std::string_view text);

/// Inside a Snapshot. The address of the user LOGIN. Empty, where nobody is to be written to: there
/// is no such user, he may do nothing, or not read check-ins (any more); he wants no mail, or has
/// not confirmed the address that is known. Errors: kIo, kCorrupt.
base::Result<std::string> personal_address(Repository& repository, std::string_view login);

}  // namespace quarry::repository
