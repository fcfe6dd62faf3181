// ${NAME} in configuration values: a variable of quarryd's environment.
#pragma once

#include <string>
#include <string_view>

#include "quarry/base/result.h"

namespace quarry::master {

/// Replaces each ${NAME} in VALUE by the variable, and each ${NAME:-TEXT} by the variable or, if it is
/// unset or empty, by TEXT. Errors: kInvalid (the variable is not set, or its value would be expanded
/// again when it is read from a dump).
base::Result<std::string> with_environment(std::string_view value);

}  // namespace quarry::master
