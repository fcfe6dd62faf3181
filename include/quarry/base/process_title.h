// The title of this process, which ps(1) shows in place of the command line.
//
// The title replaces the command line in the memory in which exec(2) has stored it. If the command
// line is too short, the title also uses the memory of the environment, which follows it. A longer
// title is truncated.
#pragma once

#include <string_view>

namespace quarry::base {

/// Records the memory of ARGV and of the environment for set_process_title(), and moves the
/// environment to other memory. Call this function once, at the start of main(), before any thread
/// is started.
void prepare_process_title(char** argv);
/// Sets the title of this process. Does nothing without prepare_process_title().
void set_process_title(std::string_view title);

}  // namespace quarry::base
