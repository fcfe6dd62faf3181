// How posts hang together: which one a post answers, and which one it is a new version of.
#pragma once

#include <string>

#include "quarry/repository/rid.h"
#include "store/database.h"

namespace quarry::repository {

/// Posts that are followed from one to the next: no thread is that deep, and a circle ends.
inline constexpr int kMaxThread = 1000;

struct PostLinks {
  bool is_there = false;
  Rid earlier = 0;   // the version before; 0: it is the first
  Rid answered = 0;  // 0: it begins a thread
};

PostLinks links_of_post(Database& database, Rid rid);

/// The name of the artifact RID; empty: there is none.
std::string name_of(Database& database, Rid rid);

}  // namespace quarry::repository
