// The queue.* parameters of `quarry spool feed` and `drain`: their defaults and --help texts.
#pragma once

#include <string>
#include <string_view>

#include "quarry/base/result.h"
#include "quarry/spool/options.h"
#include "spool_commands.h"

namespace quarry::app {

/// The --help text of a parameter.
struct SpoolHelp {
  std::string value;
  std::string description;  // including the default
};
SpoolHelp spool_help(std::string_view parameter);

bool is_given(const SpoolArguments& arguments, std::string_view parameter);

/// The queue options for ARGUMENTS. Error: kInvalid, also for parameters that would have no effect.
base::Result<spool::QueueOptions> options_of(const SpoolArguments& arguments);

}  // namespace quarry::app
