// Who descends from whom (`plink`), who was cherry-picked (`cherrypick`), and which of them are
// check-ins, by their rows of `event`.
//
// It is asked for every artifact, several times. So, while everything is computed, it is held in
// memory, and the rows of `plink` are written at once, in the order of their index.
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
  Rid baseline;  // 0: none
};

class Lineage {
 public:
  struct Child {
    Rid rid;
    bool is_primary;
  };

  /// DATABASE is not owned.
  explicit Lineage(Database& database) : database_(database) {}

  // All throw SqliteError.

  /// From now on it is held in memory. Nothing is in the tables yet.
  void hold();
  /// Writes what is held.
  void write();
  /// Forgets what is held: the tables are asked again.
  void let_go();

  /// Nothing happens where PARENT is a parent of CHILD already.
  void link(const ParentLink& link);
  /// CHILD has no parents any more. Not while it is held.
  void unlink(Rid child);
  /// RID is a check-in of DAY, in whole: its row of `event` has been written.
  void note_check_in(Rid rid, double day);
  /// Takes what `cherrypick` says now, where it is held.
  void read_picks();

  /// But for those that are shunned and gone.
  std::vector<Rid> parents(Rid child);
  /// 0 if there is none.
  Rid primary_parent(Rid child);
  std::vector<Child> children(Rid parent);
  /// What was picked for CHILD, and for what RID was; not what was backed out.
  std::vector<Rid> picked_for(Rid child);
  std::vector<Rid> picked_by(Rid rid);
  /// The date of the check-in RID; nothing for what is none, or waits for its baseline.
  std::optional<double> check_in_day(Rid rid);
  bool is_check_in(Rid rid) { return check_in_day(rid).has_value(); }
  /// Every child with its primary parent, while it is held.
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
