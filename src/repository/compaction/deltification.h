// Making an artifact a delta on a later version of it.
//
// It is done in two steps, so that others wait for as little as possible: what costs time (finding
// and compressing the delta) is planned from a snapshot, and a write transaction then puts in what
// is still right. There everything is looked at again, read back through the new chain, and
// compared with its hash.
//
//   before    old  [whole]            after    old  [delta] ─┐
//             new  [whole]                     new  [whole] <┘
//
//   before    old  [whole] <┐         after    old  [delta] ─┐      as a push stores it
//             new  [delta] ─┘                  new  [whole] <┘
//
// A chain has at most kLongestChain deltas, so that old versions can be read. Where it would have
// more, an artifact becomes a delta on a version that is much later, near the chain's end; or, where
// the chain grows at that end, what is in its middle goes on from there.
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

/// The artifact RID is to become a delta on SOURCE.
struct Rewriting {
  Rid rid = 0;
  Rid source = 0;
  std::string name;  // RID's
  std::string source_name;
  Rid former = 0;  // what RID is a delta on so far; 0: it is whole
  std::int64_t former_size = 0;
  std::string stored;  // the bytes of RID's row then
  Content content;     // RID's
  // Those of SOURCE's row, where SOURCE has to be stored whole first, since it is made from RID.
  std::optional<std::string> whole_source;
  std::int64_t former_source_size = 0;
};

class Deltification {
 public:
  /// STATE is not owned.
  explicit Deltification(RepositoryState& state) : r_(state), versions_(state.database) {}

  // Inside a Snapshot. What is planned together is applied together, in its order.

  /// What is to be done with RID, and before it, if anything. Error: kCorrupt (RID cannot be read,
  /// or is not what its name says). Throws SqliteError.
  base::Result<std::vector<Rewriting>> plan(Rid rid);
  /// All that was planned has been applied, or will not be.
  void forget_plan() { planned_.clear(); }
  Versions& versions() { return versions_; }

  // Inside a write transaction.

  /// Does what REWRITING says, unless the file has changed so that it is right no more (false).
  /// Error: kCorrupt (what was written does not read back: the transaction must not be committed).
  /// Throws SqliteError.
  base::Result<bool> apply(const Rewriting& rewriting);

 private:
  struct Row {
    std::string name;
    std::int64_t size = -1;
    std::int64_t stored_size = 0;
    Rid source = 0;
    bool is_shunned = false;
  };
  /// How an artifact is to be stored.
  struct Planned {
    Rid source = 0;  // 0: whole
    std::int64_t stored_size = 0;
  };
  using PlannedSources = std::map<Rid, Planned>;

  std::optional<Row> row_of(Rid rid);
  base::Result<Content> sound_content(Rid rid, const Row& row);
  /// RID and what it is made from, and so on to the chain's end, once what is PLANNED is done.
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
  base::Result<void> read_back(Rid rid, const std::string& name, std::string_view stored);

  RepositoryState& r_;
  Versions versions_;
  PlannedSources planned_;
  std::unordered_set<Rid> sound_;
  std::uint64_t sound_in_ = 0;  // the state of the file in which they are
};

}  // namespace quarry::repository
