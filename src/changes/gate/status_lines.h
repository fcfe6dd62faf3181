// Status messages of bwrap (--json-status-fd): a sequence of JSON objects.
//
//   { "child-pid": N }     the first process of the sandbox
//   { "exit-code": N }     of the program; missing if it was never started
#pragma once

#include <sys/types.h>

#include <optional>
#include <string_view>

namespace quarry::changes {

std::optional<pid_t> child_pid_in(std::string_view status);
std::optional<int> exit_code_in(std::string_view status);

}  // namespace quarry::changes
