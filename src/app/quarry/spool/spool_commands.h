// The `quarry spool` commands, and the queue.* parameters of feed and drain.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "quarry/base/result.h"
#include "quarry/spool/options.h"

namespace quarry::app {

inline constexpr const char* kDefaultFilename = "queue";

struct SpoolArguments {
  std::string folder;
  std::string filename;  // "": see with_filename(); feed and drain use kDefaultFilename
  std::string dead;      // a subscription; use its dead letters
  bool as_json = false;
  bool is_null = false;  // messages end with a NUL byte instead of a newline
  bool follow = false;
  std::uint8_t severity = 6;
  int acknowledgements = -1;  // descriptor to read acknowledgements from
  /// Names (without the prefix "queue.") and values.
  std::vector<std::pair<std::string, std::string>> parameters;
};

struct SpoolHelp {
  std::string value;
  std::string description;  // includes the default
};
SpoolHelp spool_help(std::string_view parameter);

/// Returns the queue options in ARGUMENTS. Errors: kInvalid, also for parameters without effect.
Result<spool::QueueOptions> options_of(const SpoolArguments& arguments);

Result<void> run_spool_status(const SpoolArguments& arguments);
Result<void> run_spool_list(const SpoolArguments& arguments);
Result<void> run_spool_export(const SpoolArguments& arguments);
Result<void> run_spool_replay(const SpoolArguments& arguments);
Result<void> run_spool_purge(const SpoolArguments& arguments);
int run_spool_feed(const SpoolArguments& arguments);
int run_spool_drain(const SpoolArguments& arguments);

}  // namespace quarry::app
