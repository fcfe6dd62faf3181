// The caller's login, and users' passwords: new ones, asked for on the terminal, read from a file,
// stored in a repository, and hidden from the list of processes.
#pragma once

#include <string>
#include <string_view>

#include "quarry/base/result.h"

namespace quarry::app {

/// The login of the calling user.
std::string login_of_caller();
/// Ten letters and digits, without characters that look alike.
std::string random_password();

/// Overwrites secrets in the arguments of this process, which everybody can read: passwords in
/// URLs, the values in their query strings (which may be tokens), and the value of --password.
/// Prints a warning if a URL contains a password.
void hide_secrets(int argc, char** argv);

/// The first line of FILE; "-" is standard input.
base::Result<std::string> password_from_file(const std::string& file);
/// Whether there is a terminal to ask on.
bool has_terminal();
/// Asks on the terminal, without echo. Error: kInvalid if there is no terminal.
base::Result<std::string> ask_for_password(const std::string& question);

/// Encodes a password as Fossil does for the setting `last-sync-pw`: obscured, not encrypted. In
/// hex: a byte R, then each byte of the password, exclusive-or'd with R and with the next of
/// sixteen fixed bytes.
std::string obscure(std::string_view password);
/// The inverse of obscure(); empty if TEXT is not its output.
std::string unobscure(std::string_view text);

}  // namespace quarry::app
