// The number of an artifact within one repository file.
#pragma once

#include <cstdint>

namespace quarry::repository {

/// `blob.rid`, at least 1. It differs from file to file.
using Rid = std::int64_t;

}  // namespace quarry::repository
