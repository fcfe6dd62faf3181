// The `quarry` commands that query a running server. Each function returns an exit code.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "server_control.h"

namespace quarry::app {

struct StatusArguments {
  ServerControl server;
  std::vector<std::string> pools;  // empty: all
  bool as_json = false;
  bool is_full = false;

  bool wants(const std::string& pool) const {
    return pools.empty() || std::ranges::find(pools, pool) != pools.end();
  }
};
int run_status(const StatusArguments& arguments);

struct TopArguments {
  ServerControl server;
  double interval = 1;      // seconds
  std::uint64_t count = 0;  // number of updates; 0: no limit
};
int run_top(const TopArguments& arguments);

}  // namespace quarry::app
