// The tables of a new repository: those that `fossil init` makes, in the schema of 2015-01-24,
// which every Fossil since 2.0 reads.
#pragma once

namespace quarry::repository {

/// All but the ticket tables.
extern const char* const kSchema;
/// The ticket tables, which a project may define otherwise (`ticket-table`).
extern const char* const kTicketSchema;

/// What PRAGMA application_id says of a repository.
constexpr int kApplicationId = 252006673;

}  // namespace quarry::repository
