// How the commands of `quarry` are put together: each has words of its own, and one function that does
// what they say.
#pragma once

#include <CLI/CLI.hpp>
#include <functional>
#include <memory>

namespace quarry::app {

/// What the command line asks for; its result is the exit code.
using Run = std::function<int()>;

/// Where COMMAND's words go. It sets RUN to ACTION on them when it is named.
template <typename Arguments>
Arguments& arguments_of(CLI::App& command, Run& run, int (*action)(const Arguments&)) {
  auto arguments = std::make_shared<Arguments>();
  command.callback(
      [arguments, &run, action] { run = [arguments, action] { return action(*arguments); }; });
  return *arguments;
}

}  // namespace quarry::app
