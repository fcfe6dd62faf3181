// The relations between artifacts: parents and children (`plink`), and cherry-picks (`cherrypick`).
// The class also knows which artifacts are check-ins, from the rows of `event`.
//
// This data is needed several times for every artifact. Therefore, a complete recomputation holds
// the data in memory, and writes the rows of `plink` together, in index order.
#pragma once

#include <optional>
#include <unordered_map>
#include <vector>

#include "quarry/repository/rid.h"
#include "store/database.h"

namespace quarry::repository {

/// A row of `plink`.
struct ParentLink {
  Rid parent;
  Rid child;
  bool is_primary;
  double day;
  Rid baseline;  // 0 if there is none
};

class Lineage {
 public:
  struct Child {
    Rid rid;
    bool is_primary;
  };

  /// DATABASE is not owned.
  explicit Lineage(Database& database) : database_(database) {}

  // All functions throw SqliteError.

  /// Begins holding the links in memory. The tables must be empty.
  void hold();
  /// Writes the data held in memory.
  void write();
  /// Releases the memory, and uses the tables again.
  void let_go();

  /// Adds LINK. Does nothing if the parent is already a parent of the child.
  void link(const ParentLink& link);
  /// Removes all parents of CHILD. Must not be called while the links are held in memory.
  void unlink(Rid child);
  /// Call after the row of `event` for the check-in RID has been written. DAY is the date in this
  /// row.
  void note_check_in(Rid rid, double day);
  /// Reads `cherrypick` again if the links are held in memory.
  void read_picks();

  /// Returns the parents of CHILD, except shunned parents that were removed.
  std::vector<Rid> parents(Rid child);
  /// Returns the primary parent of CHILD, or 0 if there is none.
  Rid primary_parent(Rid child);
  std::vector<Child> children(Rid parent);
  /// picked_for() returns the check-ins that were cherry-picked into CHILD. picked_by() returns the
  /// check-ins into which RID was cherry-picked. Backouts are not included.
  std::vector<Rid> picked_for(Rid child);
  std::vector<Rid> picked_by(Rid rid);
  /// Returns the date of the check-in RID. Returns nullopt if RID is not a check-in or is waiting
  /// for its baseline.
  std::optional<double> check_in_day(Rid rid);
  bool is_check_in(Rid rid) { return check_in_day(rid).has_value(); }
  /// Returns all primary links. Call only while the links are held in memory.
  std::vector<ParentLink> primary_links();

 private:
  struct Node {
    std::vector<ParentLink> up;
    std::vector<Child> down;
    std::vector<Rid> picked, picked_by;
    std::optional<double> day;
  };
  const Node& node(Rid rid) const;

  Database& database_;
  bool is_held_ = false;
  std::unordered_map<Rid, Node> nodes_;
};

}  // namespace quarry::repository
