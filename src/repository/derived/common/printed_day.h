// Julian days in the form that fossil writes into event, plink and backlink. Fossil does not bind
// the number. Instead, it writes a decimal number of 16 digits into the SQL text. It computes the
// digits by scaling with 0.1 (a double, which is slightly too large) in extended precision, so the
// last digit is often off by one. This module repeats the same steps, so that our rows are exactly
// the same as the rows of `fossil rebuild`.
#pragma once

#include "quarry/base/time.h"
#include "store/database.h"

namespace quarry::repository {

/// Returns the value that a column has after fossil has written DAY into it.
double printed_day(Database& database, double day);
inline double printed_day(Database& database, base::UnixMillis time) {
  return printed_day(database, base::julian_day(time));
}

}  // namespace quarry::repository
