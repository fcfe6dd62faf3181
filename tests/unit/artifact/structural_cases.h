// Valid and invalid texts of structural artifacts. Tests check them with our parser and, if fossil
// is installed, with fossil.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "quarry/artifact/structural.h"

namespace quarry::artifact::test {

/// Returns TEXT followed by its Z card.
std::string with_end_card(std::string_view text);

struct StructuralCase {
  std::string name;
  std::string content;
  std::optional<StructuralType> type;  // empty for plain data
};

std::vector<StructuralCase> structural_cases();

}  // namespace quarry::artifact::test
