// The tables of a new repository: those that `fossil init` makes, in the schema of 2015-01-24,
// which every Fossil since 2.0 reads.
#pragma once

#include <string_view>

#include "database.h"

namespace quarry::repository {

/// What cannot be computed from anything else: artifacts, settings, people.
extern const char* const kTruthSchema;
/// What is computed, but for the ticket tables.
extern const char* const kDerivedSchema;
/// The rows of `tag` that every repository begins with.
void add_predefined_tags(Database& database);
/// The ticket tables, which a project may define otherwise (`ticket-table`).
extern const char* const kTicketSchema;

/// The name of this schema: the row `aux-schema` of `config`.
constexpr std::string_view kAuxSchema = "2015-01-24";

/// What PRAGMA application_id says of a repository.
constexpr int kApplicationId = 252006673;

}  // namespace quarry::repository
