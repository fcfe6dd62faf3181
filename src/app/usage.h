// Error messages for a wrong command line.
//
//   quarry: unknown command "sycn": did you mean sync? (quarry --help)
//   quarryd: unknown option --server: did you mean --serve? (quarryd --help)
//
// All programs replace the error messages of CLI11 with these.
#pragma once

#include <CLI/CLI.hpp>

namespace quarry::app {

/// Prints --help or --version and returns 0, or prints an error on standard error and returns 2.
int end_of_parse(const CLI::App& app, const CLI::ParseError& error);

}  // namespace quarry::app
