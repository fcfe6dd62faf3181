// The caller's login, and users' passwords. Creates passwords, asks for them, reads them from a
// file, stores them in a repository, and hides them from the list of processes.
#pragma once

#include <string>
#include <string_view>

#include "quarry/base/result.h"

namespace quarry::app {

/// Returns the login name of the calling user.
std::string login_of_caller();
/// Returns ten random letters and digits. Letters and digits that look alike are not used.
std::string random_password();

/// Overwrites secrets in the arguments of this process, because every user can read them. Secrets
/// are passwords in URLs, values in the query strings of URLs (possibly tokens), and the value of
/// --password. Prints a warning if a URL contains a password.
void hide_secrets(int argc, char** argv);

/// Returns the first line of FILE; "-" means standard input.
Result<std::string> password_from_file(const std::string& file);
/// Returns whether the process has a terminal on which it can ask the user.
bool has_terminal();
/// Asks for a password on the terminal, without echo. Errors: kInvalid if the process does not have
/// a terminal.
Result<std::string> ask_for_password(const std::string& question);

/// Encodes a password in the form of Fossil's `last-sync-pw` setting. This obscures the password,
/// but does not encrypt it. The result is in hex: a random byte R, followed by the bytes of the
/// password. Each byte of the password is XORed with R and with one of sixteen fixed bytes, which
/// are used in turn.
std::string obscure(std::string_view password);
/// Reverses obscure(). Returns "" if TEXT is not a valid result of obscure().
std::string unobscure(std::string_view text);

}  // namespace quarry::app
