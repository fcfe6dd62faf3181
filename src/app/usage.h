// What is wrong with a command line, told to whoever wrote it.
//
//   quarry: there is no command "sycn": did you mean sync? (quarry --help)
//   quarryd: there is no option --server: did you mean --serve? (quarryd --help)
//
// Used by both programs, where CLI11 could make nothing of their words.
#pragma once

#include <CLI/CLI.hpp>
#include <span>
#include <string>
#include <string_view>

namespace quarry::app {

/// The one of KNOWN that was most likely meant by WORD: with the fewest letters wrong, missing, too
/// many or swapped, and not half of them. Empty where none is like it.
std::string likeliest(std::string_view word, std::span<const std::string> known);

/// The line (without its end) that says what is wrong: APP's parse has thrown ERROR. URLs that it
/// shows have no password.
std::string complaint(const CLI::App& app, const CLI::ParseError& error);

/// Answers --help and --version (returns 0), or complains on standard error (returns 2).
int end_of_parse(const CLI::App& app, const CLI::ParseError& error);

}  // namespace quarry::app
