// How a `quarry` command is defined: its options, and the function that runs it.
#pragma once

#include <CLI/CLI.hpp>
#include <functional>
#include <memory>

namespace quarry::app {

/// Runs the command that was parsed; returns the exit code.
using Run = std::function<int()>;

/// Returns the object that COMMAND's options write to. If the command is given, RUN is set to call
/// ACTION with it.
template <typename Arguments>
Arguments& arguments_of(CLI::App& command, Run& run, int (*action)(const Arguments&)) {
  auto arguments = std::make_shared<Arguments>();
  command.callback(
      [arguments, &run, action] { run = [arguments, action] { return action(*arguments); }; });
  return *arguments;
}

}  // namespace quarry::app
