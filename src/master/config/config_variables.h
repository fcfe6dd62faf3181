// ${NAME} in a value of the configuration: a variable of quarryd's environment.
#pragma once

#include <string>
#include <string_view>

#include "quarry/base/result.h"

namespace quarry::master {

/// VALUE with each ${NAME} replaced by that variable, and each ${NAME:-TEXT} by it or, where it is
/// empty or there is none, by TEXT. Errors: kInvalid, where there is no such variable; where it
/// holds what would mean something again when it is read from a dump.
base::Result<std::string> with_environment(std::string_view value);

}  // namespace quarry::master
