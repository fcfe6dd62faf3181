// Valid and invalid texts of structural artifacts, each with a name. They are checked with the
// parser, and with fossil itself if it is installed.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "quarry/artifact/structural.h"

namespace quarry::artifact::test {

/// TEXT with its Z card.
std::string with_end_card(std::string_view text);

struct StructuralCase {
  std::string name;
  std::string content;
  std::optional<StructuralType> type;  // empty for plain data
};

std::vector<StructuralCase> structural_cases();

}  // namespace quarry::artifact::test
