#include "config_variables.h"

#include <fmt/core.h>

#include <algorithm>
#include <cstdlib>

#include "quarry/base/escape.h"

namespace quarry::master {
namespace {

using base::ErrorCode;
using base::fail;
using base::Result;

/// The replacement for NAME, with DEFAULTS_TO as its default, if any.
Result<std::string> value_of(const std::string& name, const std::string* defaults_to) {
  const char* found = std::getenv(name.c_str());
  if (defaults_to != nullptr && (found == nullptr || *found == '\0')) return *defaults_to;
  if (found == nullptr) {
    return fail(ErrorCode::kInvalid, fmt::format("${{{}}}: there is no such variable in the "
                                                 "environment; ${{{}:-TEXT}} has a default",
                                                 base::printable(name), base::printable(name)));
  }
  std::string value = found;
  if (value.find("${") != value.npos || value.find("$pool") != value.npos ||
      value.find('\n') != value.npos) {
    return fail(ErrorCode::kInvalid,
                fmt::format("${{{}}}: the variable holds $pool, ${{ or a line end itself",
                            base::printable(name)));
  }
  return value;
}

}  // namespace

Result<std::string> with_environment(std::string_view value) {
  std::string text;
  for (;;) {
    const std::size_t start = std::min(value.find("${"), value.size());
    const std::size_t end = value.find('}', start);
    text += value.substr(0, start);
    if (start == value.size()) return text;
    if (end == std::string_view::npos) {
      return fail(ErrorCode::kInvalid, "${ has no } behind it");
    }
    const std::string inside(value.substr(start + 2, end - start - 2));
    const std::size_t colon = inside.find(":-");
    const std::string defaults_to = colon == std::string::npos ? "" : inside.substr(colon + 2);
    QUARRY_TRY_ASSIGN(
        const std::string found,
        value_of(inside.substr(0, colon), colon == std::string::npos ? nullptr : &defaults_to));
    text += found;
    value.remove_prefix(end + 1);
  }
}

}  // namespace quarry::master
