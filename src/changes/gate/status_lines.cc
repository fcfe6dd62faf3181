#include "status_lines.h"

#include <nlohmann/json.hpp>
#include <string>

namespace quarry::changes {
namespace {

std::optional<int> number_in(std::string_view status, const char* name) {
  while (true) {
    const std::size_t begin = status.find('{');
    const std::size_t end = status.find('}');
    if (begin == std::string_view::npos || end == std::string_view::npos || end < begin) return {};
    const auto object =
        nlohmann::json::parse(status.substr(begin, end - begin + 1), nullptr, false);
    if (object.is_object() && object.contains(name) && object[name].is_number_integer()) {
      return object[name].get<int>();
    }
    status.remove_prefix(end + 1);
  }
}

}  // namespace

std::optional<pid_t> child_pid_in(std::string_view status) {
  return number_in(status, "child-pid");
}

std::optional<int> exit_code_in(std::string_view status) {
  return number_in(status, "exit-code");
}

}  // namespace quarry::changes
