// The tables of a new repository: those that `fossil init` makes, in the schema of 2015-01-24,
// which every Fossil since 2.0 reads.
#pragma once

namespace quarry::repository {

extern const char* const kSchema;

/// What PRAGMA application_id says of a repository.
constexpr int kApplicationId = 252006673;

}  // namespace quarry::repository
