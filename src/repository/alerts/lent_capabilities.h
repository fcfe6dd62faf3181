// What a subscriber may see: by what his user has, and by what others lend to him.
#pragma once

#include <string>
#include <string_view>

#include "repository_state.h"

namespace quarry::repository {

/// What users lend to others.
struct LentCapabilities {
  std::string developer;
  std::string reader;
  std::string everybody;  // nobody's and anonymous'
};

/// Throws SqliteError.
LentCapabilities lent_capabilities(Database& database);

/// OWN, and what is lent to who has it.
std::string all_capabilities(std::string_view own, const LentCapabilities& lent);

}  // namespace quarry::repository
