// Stores an artifact as a delta on a later version.
//
// Two steps are used so that the write lock is held only briefly. The first step runs in a
// snapshot. It finds and compresses the delta, which is slow. The second step is a write
// transaction. It checks the plan again, and applies the parts that are still valid. It also reads
// each content back through the new chain and compares the content with its hash.
//
//   before    old  [whole]            after    old  [delta] ─┐
//             new  [whole]                     new  [whole] <┘
//
//   before    old  [whole] <┐         after    old  [delta] ─┐      as a push stores it
//             new  [delta] ─┘                  new  [whole] <┘
//
// A chain has at most kLongestChain deltas, so that old versions can still be read quickly. If the
// chain would be longer, the artifact becomes a delta on a much later version near the end of the
// chain. If a newer version makes the chain too long, an artifact in the middle of the chain
// becomes a delta on an artifact near the end of the chain.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <unordered_set>
#include <vector>

#include "quarry/base/result.h"
#include "quarry/repository/rid.h"
#include "repository_state.h"
#include "versions.h"

namespace quarry::repository {

/// A plan to store the artifact RID as a delta on SOURCE.
struct Rewriting {
  Rid rid = 0;
  Rid source = 0;
  std::string name;  // name of RID
  std::string source_name;
  Rid former = 0;  // the current delta source of RID; 0 if stored whole
  std::int64_t former_size = 0;
  std::string stored;  // the new bytes of RID's row
  Content content;     // content of RID
  // New bytes of SOURCE's row if SOURCE is now a delta on RID: SOURCE must then be stored whole
  // first. Otherwise nullopt.
  std::optional<std::string> whole_source = {};
  std::int64_t former_source_size = 0;
};

class Deltification {
 public:
  /// STATE is not owned.
  explicit Deltification(RepositoryState& state) : r_(state), versions_(state.database) {}

  // Use plan() inside a Snapshot. Plans must be applied together and in order.

  /// Plans the changes for RID, and any changes that must be made before them. Error: kCorrupt (RID
  /// cannot be read, or does not match its hash). Throws SqliteError.
  Result<std::vector<Rewriting>> plan(Rid rid);
  /// Call after all planned changes have been applied or discarded.
  void forget_plan() { planned_.clear(); }
  Versions& versions() { return versions_; }

  // Use apply() inside a write transaction.

  /// Applies REWRITING. Returns false if the plan is no longer valid, because the file has changed.
  /// Error: kCorrupt (the written content could not be read back). Do not commit the transaction
  /// after this error. Throws SqliteError.
  Result<bool> apply(const Rewriting& rewriting);

 private:
  struct Row {
    std::string name;
    std::int64_t size = -1;
    std::int64_t stored_size = 0;
    Rid source = 0;
    bool is_shunned = false;
  };
  struct Planned {
    Rid source = 0;  // 0 if it is stored whole
    std::int64_t stored_size = 0;
  };
  using PlannedSources = std::map<Rid, Planned>;

  std::optional<Row> row_of(Rid rid);
  Result<Content> sound_content(Rid rid, const Row& row);
  /// Returns the delta chain that RID will have after the changes in PLANNED, beginning with RID.
  std::vector<Rid> chain_of(Rid rid, const PlannedSources& planned);
  static void note_planned(const Rewriting& rewriting, PlannedSources& planned);
  std::optional<Rewriting> on_one_of(const std::vector<Rid>& sources, Rid rid, const Row& row,
                                     const Content& content);
  std::optional<Rewriting> on(Rid source, Rid rid, const Row& row, const Content& content);
  bool is_worth_it(const Rewriting& rewriting, std::size_t delta_size);
  bool is_still_right(const Rewriting& rewriting);
  bool shorten(const Rewriting& rewriting, std::vector<Rewriting>& plan);
  std::optional<std::vector<Rid>> longest_chain_on(Rid rid);
  void write(Rid rid, std::string_view stored, Rid source);
  Result<void> read_back(Rid rid, const std::string& name, std::string_view stored);

  RepositoryState& r_;
  Versions versions_;
  PlannedSources planned_;
  std::unordered_set<Rid> sound_;
  std::uint64_t sound_in_ = 0;  // the epoch of the file in which sound_ was filled
};

}  // namespace quarry::repository
