// Julian days as fossil writes them into event, plink and backlink: fossil does not bind the
// number, but writes a decimal text of 16 digits, which SQLite parses. It computes the digits by
// scaling with 0.1 (a double, hence slightly too large) in extended precision, so the last digit is
// often off by one. We repeat the same steps, so that our rows are exactly the same as those of
// `fossil rebuild`.
#pragma once

#include "quarry/base/time.h"
#include "store/database.h"

namespace quarry::repository {

/// The value that a column has after fossil wrote DAY into it.
double printed_day(Database& database, double day);
inline double printed_day(Database& database, base::UnixMillis time) {
  return printed_day(database, base::julian_day(time));
}

}  // namespace quarry::repository
