// Repositories that a later Fossil has upgraded to an unknown schema: the row `aux-schema` of
// `config` holds its date. As in fossil, nothing else is read from such a file, and nothing is
// written.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "quarry/base/result.h"

namespace quarry::repository {

class Database;

/// Error: kInvalid if AUX_SCHEMA (empty if the row is missing) is later than the one in schema.h.
base::Result<void> check_aux_schema(const std::optional<std::string>& aux_schema);
/// The same for DATABASE. Succeeds if it has no table `config`.
base::Result<void> check_aux_schema(Database& database);

}  // namespace quarry::repository
