// Repositories that a later Fossil has brought to a schema which nobody here knows: the row
// `aux-schema` of `config` names it, by a date. Nothing is read from such a file but this row, and
// nothing written, as `fossil` has it.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "quarry/base/result.h"

namespace quarry::repository {

class Database;

/// Error: kInvalid where AUX_SCHEMA (nothing: there is no such row) is later than that of schema.h.
base::Result<void> check_aux_schema(const std::optional<std::string>& aux_schema);
/// The same for what DATABASE says; where it has no table `config`, nothing is wrong yet.
base::Result<void> check_aux_schema(Database& database);

}  // namespace quarry::repository
