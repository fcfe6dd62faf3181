// Options of a pool's change-set queues: the directives `changes` and `changes.…`.
#pragma once

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>

#include "quarry/changes/change_set.h"
#include "quarry/changes/rights.h"
#include "quarry/changes/rules.h"

namespace quarry::changes {

/// Options for gates.
struct GateWords {
  std::string program;   // the program and its arguments, separated by blanks; empty for no gate
  std::string user;      // user to run it as; empty for the user that runs the queue
  std::string readable;  // paths that it may read in addition to those of the system, separated by
                         // blanks
  bool is_sandboxed = true;
  /// Whether a verdict remains valid if the branch has changed since.
  bool accepts_stale = false;
  std::chrono::milliseconds timeout{600'000};
  std::uint64_t memory = std::uint64_t{2} << 30;  // bytes
  std::uint64_t disk = std::uint64_t{1} << 30;    // maximum number of bytes in its folder
  std::uint64_t processes = 256;
};

struct PoolOptions {
  bool is_enabled = false;
  /// Folder for the queues of all repositories, each named after its repository. If empty, each
  /// queue is next to its repository.
  std::filesystem::path base;
  std::uint64_t max_size = std::uint64_t{64} << 20;       // maximum size of a tarball in bytes
  std::uint64_t max_expanded = std::uint64_t{256} << 20;  // maximum size of its contents in bytes
  std::uint64_t children = 2;                             // number of children of the execution
                                                          // daemon
  std::uint64_t batch = 0;                 // change sets that land together; 0 for the default of
                                           // batch_of()
  std::chrono::milliseconds scan{10'000};  // interval between scans without a trigger
  Rules rules;
  GateWords gate;
  Rights rights;
};

/// How many change sets land together. By default, it is one if there is a gate, because all change
/// sets of a batch wait for the gate's verdict on each of them. Without a gate it is many, because
/// a large batch costs less per change set.
std::size_t batch_of(const PoolOptions& options);

/// The folder of the queue for the repository FILE, which the pool serves as NAME (empty for the
/// only repository of a pool).
std::filesystem::path queue_base(const PoolOptions& options, const std::filesystem::path& file,
                                 std::string_view name);

/// Parses move types as they are written in the configuration: "EM BF", or "none".
base::Result<std::array<bool, kMoveTypes>> parse_move_types(std::string_view text);
std::string text_of(const std::array<bool, kMoveTypes>& types);

}  // namespace quarry::changes
