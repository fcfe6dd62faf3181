// The description of a `quarry` command: its options, and the function that runs it.
#pragma once

#include <CLI/CLI.hpp>
#include <functional>
#include <memory>

#include "exit_codes.h"

namespace quarry::app {

/// Runs the parsed command and returns the exit code.
using Run = std::function<int()>;

/// Returns the object to which COMMAND's options write. If the user selects the command, RUN is set
/// to a function that calls ACTION with that object. ACTION returns an exit code or a Result<void>.
template <typename Arguments, typename Outcome>
Arguments& arguments_of(CLI::App& command, Run& run, Outcome (*action)(const Arguments&)) {
  auto arguments = std::make_shared<Arguments>();
  command.callback([arguments, &run, action] {
    run = [arguments, action] { return exit_code_of(action(*arguments)); };
  });
  return *arguments;
}

}  // namespace quarry::app
