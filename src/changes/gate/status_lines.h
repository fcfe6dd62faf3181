// What bwrap tells of its sandbox (--json-status-fd): objects of JSON, one behind the other.
//
//   { "child-pid": N }     its first process; there may be more in it
//   { "exit-code": N }     of the program; never said where it was not begun
#pragma once

#include <sys/types.h>

#include <optional>
#include <string_view>

namespace quarry::changes {

std::optional<pid_t> child_pid_in(std::string_view status);
std::optional<int> exit_code_in(std::string_view status);

}  // namespace quarry::changes
