// Texts of structural artifacts, good and bad, each named after what it shows. The verdict on each
// is checked against the parser, and against fossil itself where it is installed.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "quarry/artifact/structural.h"

namespace quarry::artifact::test {

/// TEXT with the Z card that belongs to it.
std::string with_end_card(std::string_view text);

struct StructuralCase {
  std::string name;
  std::string content;
  std::optional<StructuralType> type;  // nothing: plain data
};

/// All of them.
std::vector<StructuralCase> structural_cases();

}  // namespace quarry::artifact::test
