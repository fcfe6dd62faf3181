// Links between posts: the answered post and the previous version of each post.
#pragma once

#include "quarry/repository/rid.h"
#include "store/database.h"

namespace quarry::repository {

/// Maximum number of links to follow. The limit prevents endless loops; real threads are less deep.
inline constexpr int kMaxThread = 1000;

struct PostLinks {
  bool is_there = false;
  Rid earlier = 0;   // the previous version; 0 if it is the first
  Rid answered = 0;  // the answered post; 0 if this post begins a thread
};

PostLinks links_of_post(Database& database, Rid rid);

}  // namespace quarry::repository
