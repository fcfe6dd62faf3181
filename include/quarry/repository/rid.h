// The number of an artifact within one repository file.
#pragma once

#include <cstdint>

namespace quarry::repository {

/// `blob.rid`, at least 1. The same artifact has different numbers in different files.
using Rid = std::int64_t;

}  // namespace quarry::repository
