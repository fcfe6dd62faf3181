// How the tables of a repository name an artifact.
#pragma once

#include <cstdint>

namespace quarry::repository {

/// A row of `blob`: 1 and more, another one in every file.
using Rid = std::int64_t;

}  // namespace quarry::repository
