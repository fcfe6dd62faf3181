// The queue.* parameters of `quarry spool feed` and `drain`: what they are where nothing is given,
// and what --help says of them.
#pragma once

#include <string>
#include <string_view>

#include "quarry/base/result.h"
#include "quarry/spool/options.h"
#include "spool_commands.h"

namespace quarry::app {

/// What a person is told of a parameter.
struct SpoolHelp {
  std::string value;
  std::string description;  // with the default
};
SpoolHelp spool_help(std::string_view parameter);

bool is_given(const SpoolArguments& arguments, std::string_view parameter);

/// The options that ARGUMENTS ask for. Errors: kInvalid, also for what would be of no effect.
base::Result<spool::QueueOptions> options_of(const SpoolArguments& arguments);

}  // namespace quarry::app
