// How a pool's change-set queues are run: the configuration words `changes` and `changes.…`.
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

/// What decides whether a change set lands, and what it may take meanwhile.
struct GateWords {
  std::string program;   // with its arguments, at blanks; "": there is none
  std::string user;      // whom it becomes; "": whoever runs the queue
  std::string readable;  // paths that it may read beside the system's, at blanks
  bool is_sandboxed = true;
  /// A verdict counts though the branch has moved on since.
  bool accepts_stale = false;
  std::chrono::milliseconds timeout{600'000};
  std::uint64_t memory = std::uint64_t{2} << 30;  // bytes
  std::uint64_t disk = std::uint64_t{1} << 30;    // bytes of its folder
  std::uint64_t processes = 256;
};

struct PoolOptions {
  bool is_enabled = false;
  /// A folder with the queues of all repositories, each called as its repository is; "": each lies
  /// beside its own.
  std::filesystem::path base;
  std::uint64_t max_size = std::uint64_t{64} << 20;       // bytes of a tarball
  std::uint64_t max_expanded = std::uint64_t{256} << 20;  // and of what is in it
  std::uint64_t children = 2;                             // of the execution daemon
  std::uint64_t batch = 0;                 // that are landed together; 0: see batch_of()
  std::chrono::milliseconds scan{10'000};  // between two looks without a trigger
  Rules rules;
  GateWords gate;
  Rights rights;
};

/// How many change sets are landed together: where nothing is said, one after a gate, since all of
/// them wait for its verdict over any; without one many, since that costs less for each.
std::size_t batch_of(const PoolOptions& options);

/// The folder of the queue of the repository FILE, which a pool serves as NAME ("": alone).
std::filesystem::path queue_base(const PoolOptions& options, const std::filesystem::path& file,
                                 std::string_view name);

/// Move types as the configuration has them: "EM BF", or "none".
base::Result<std::array<bool, kMoveTypes>> parse_move_types(std::string_view text);
std::string text_of(const std::array<bool, kMoveTypes>& types);

}  // namespace quarry::changes
