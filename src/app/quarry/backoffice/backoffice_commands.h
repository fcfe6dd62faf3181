// The commands of `quarry` about a repository's background work. What they return is an exit code
// (common/exit_codes.h).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace quarry::app {

struct BackofficeArguments {
  std::vector<std::string> files;
  std::int64_t poll = 0;  // seconds; below 1: once
  std::int64_t min =
      3600;  // of polling: seconds after which also one that has not changed has a run
  bool no_delay = false;
  bool no_lease = false;
  bool compacts = false;
  std::string log_file;
  bool trace = false;
  std::int64_t lease_time = 60;  // seconds
  std::string courier;           // its socket
  std::string config;            // the server's, which says where that is
  // What the server says when it starts this.
  bool is_automatic = false;
  bool is_folder = false;               // the first of FILES is one of repositories
  std::optional<std::uint32_t> number;  // of those in it that have this number
};
int run_backoffice(const BackofficeArguments& arguments);

}  // namespace quarry::app
