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
  std::string program;  // the program and its arguments, separated by blanks; empty for no gate
  std::string user;     // user of the gate; empty for the user of the queue
  /// Paths that the gate can read in addition to the system's files, separated by blanks.
  std::string readable;
  bool is_sandboxed = true;
  /// Whether the gate's verdict remains valid if the branch changes later.
  bool accepts_stale = false;
  std::chrono::milliseconds timeout{600'000};
  std::uint64_t memory = std::uint64_t{2} << 30;  // bytes
  std::uint64_t disk = std::uint64_t{1} << 30;    // maximum size of the gate's folder in bytes
  std::uint64_t processes = 256;
};

struct PoolOptions {
  bool is_enabled = false;
  /// Folder for the queues of all repositories, each named after its repository. If empty, each
  /// queue is next to its repository.
  std::filesystem::path base;
  std::uint64_t max_size = std::uint64_t{64} << 20;       // maximum size of a tarball in bytes
  std::uint64_t max_expanded = std::uint64_t{256} << 20;  // maximum unpacked size in bytes
  std::uint64_t children = 2;                             // children of the execution daemon
  std::uint64_t batch = 0;  // change sets that land together; 0 for the default (see batch_of())
  std::chrono::milliseconds scan{10'000};  // interval between scans without a trigger
  Rules rules;
  GateWords gate;
  Rights rights;
};

/// Returns the maximum number of change sets that land together. With a gate, the default is one,
/// because every change set has to wait until the gate has checked the whole batch. Without a gate,
/// the default is larger, because a large batch takes less time per change set.
std::size_t batch_of(const PoolOptions& options);

/// Returns the folder of the queue for the repository FILE. NAME is the repository's name in its
/// pool, or empty for the only repository of a pool.
std::filesystem::path queue_base(const PoolOptions& options, const std::filesystem::path& file,
                                 std::string_view name);

/// Parses a list of move types from the configuration, for example "EM BF" or "none".
Result<std::array<bool, kMoveTypes>> parse_move_types(std::string_view text);
std::string text_of(const std::array<bool, kMoveTypes>& types);

}  // namespace quarry::changes
