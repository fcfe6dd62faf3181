// The title of this process, which ps(1) shows in place of the command line.
//
// The title replaces the command line in the memory in which exec(2) has stored it. If that is too
// short, the title also uses the memory of the environment, which follows. A longer title is cut.
#pragma once

#include <string_view>

namespace quarry::base {

/// Remembers the memory of ARGV, and copies the environment elsewhere. Called once, at the start of
/// main(), before any thread.
void prepare_process_title(char** argv);
/// Sets the title of this process. Does nothing without prepare_process_title().
void set_process_title(std::string_view title);

}  // namespace quarry::base
