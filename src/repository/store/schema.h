// The tables of a new repository, as created by `fossil init`. They have the schema of 2015-01-24,
// which Fossil 2.0 and later can read.
#pragma once

#include <string_view>

#include "database.h"

namespace quarry::repository {

/// Tables that cannot be recomputed: artifacts, settings, users.
extern const char* const kTruthSchema;
/// The derived tables, except the ticket tables.
extern const char* const kDerivedSchema;
/// Adds the predefined rows of `tag`.
void add_predefined_tags(Database& database);
/// The default ticket tables, which a project can redefine (`ticket-table`).
extern const char* const kTicketSchema;

/// The name of this schema, in the row `aux-schema` of `config`.
constexpr std::string_view kAuxSchema = "2015-01-24";

/// PRAGMA application_id of a repository.
constexpr int kApplicationId = 252006673;

}  // namespace quarry::repository
