// Error messages for a wrong command line.
//
//   quarry: there is no command "sycn": did you mean sync? (quarry --help)
//   quarryd: there is no option --server: did you mean --serve? (quarryd --help)
//
// Used by all programs, for the errors that CLI11 reports.
#pragma once

#include <CLI/CLI.hpp>
#include <span>
#include <string>
#include <string_view>

namespace quarry::app {

/// The element of KNOWN that WORD most likely means: the one with the fewest wrong, missing,
/// additional or swapped letters. Empty if more than a third of the letters differ in each.
std::string likeliest(std::string_view word, std::span<const std::string> known);

/// The error message, without a newline, for the ERROR that APP's parse has thrown. Passwords in
/// URLs are removed.
std::string complaint(const CLI::App& app, const CLI::ParseError& error);

/// Prints --help or --version and returns 0, or prints an error on standard error and returns 2.
int end_of_parse(const CLI::App& app, const CLI::ParseError& error);

}  // namespace quarry::app
