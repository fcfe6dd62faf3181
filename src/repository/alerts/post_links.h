// Links between posts: which post a post answers, and of which post it is a new version.
#pragma once

#include "quarry/repository/rid.h"
#include "store/database.h"

namespace quarry::repository {

/// Maximum number of links to follow. No thread is that deep; the limit guards against cycles.
inline constexpr int kMaxThread = 1000;

struct PostLinks {
  bool is_there = false;
  Rid earlier = 0;   // the previous version; 0 if it is the first
  Rid answered = 0;  // the post that this one answers; 0 if it begins a thread
};

PostLinks links_of_post(Database& database, Rid rid);

}  // namespace quarry::repository
