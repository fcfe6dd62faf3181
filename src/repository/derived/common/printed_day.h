// Julian days as fossil writes them into event, plink and backlink: not the number itself but its
// decimal text of 16 digits, which SQLite then reads. The digits are made by scaling with 0.1 (a
// double, hence a little too large) in extended precision, so the last one is often off by one; for
// our rows to equal those that `fossil rebuild` makes, to the byte, the same steps are taken here.
#pragma once

#include "store/database.h"

namespace quarry::repository {

/// The value that a column has after fossil wrote DAY into it.
double printed_day(Database& database, double day);

}  // namespace quarry::repository
