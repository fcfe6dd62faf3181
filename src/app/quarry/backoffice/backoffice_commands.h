// The `quarry` commands for a repository's background work. They return an exit code
// (common/exit_codes.h).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace quarry::app {

struct BackofficeArguments {
  std::vector<std::string> files;
  std::int64_t poll = 0;    // seconds; below 1: once
  std::int64_t min = 3600;  // seconds between runs of an unchanged repository when polling
  bool no_delay = false;
  bool no_lease = false;
  bool compacts = false;
  std::string log_file;
  bool trace = false;
  std::int64_t lease_time = 60;  // seconds
  std::string courier;           // path of its socket
  // Set by the server only.
  bool is_automatic = false;
  bool is_folder = false;               // the first of FILES is a folder of repositories
  std::optional<std::uint32_t> number;  // only repositories with this number
};
int run_backoffice(const BackofficeArguments& arguments);

}  // namespace quarry::app
