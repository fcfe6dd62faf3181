// A subscriber's capabilities: the capabilities of the subscriber's user, including inherited
// capabilities.
#pragma once

#include <string>
#include <string_view>

#include "repository_state.h"

namespace quarry::repository {

/// Capabilities that users inherit from special users.
struct LentCapabilities {
  std::string developer;
  std::string reader;
  std::string everybody;  // capabilities of `nobody` and `anonymous`
};

/// Reads the special users. Throws SqliteError.
LentCapabilities lent_capabilities(Database& database);

/// Returns the capabilities OWN and the capabilities that a user with OWN inherits.
std::string all_capabilities(std::string_view own, const LentCapabilities& lent);

}  // namespace quarry::repository
