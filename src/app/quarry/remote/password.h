// Passwords of people: asked for, read from a file, kept in a repository, and kept out of the list
// of processes.
#pragma once

#include <string>
#include <string_view>

#include "quarry/base/result.h"

namespace quarry::app {

/// Overwrites the passwords of URLs, the values in their queries (which may be tokens), and the
/// password of --password, among the arguments of this process, which everybody can read. Of
/// passwords in URLs it warns on standard error: there are better ways.
void hide_secrets(int argc, char** argv);

/// The first line of FILE; "-" is standard input.
base::Result<std::string> password_from_file(const std::string& file);
/// Whether there is somebody to ask.
bool has_terminal();
/// Asks on the terminal, without showing what is typed. Error: kInvalid where there is no terminal.
base::Result<std::string> ask_for_password(const std::string& question);

/// The form in which Fossil keeps a password in the setting `last-sync-pw`: unreadable at a glance,
/// and nothing more. In hex: one byte R, then each byte of the password, exclusive-or'd with R and
/// with the next of sixteen fixed bytes.
std::string obscure(std::string_view password);
/// The inverse; empty for what obscure() did not make.
std::string unobscure(std::string_view text);

}  // namespace quarry::app
