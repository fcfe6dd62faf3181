// Expanding every artifact of a file once.
//
// Deltas form trees: below what is stored whole is what is made from it, and so on. A tree is gone
// along depth first, the largest branch of an artifact last, so that its content is needed no more
// by then: however many artifacts there are, few contents wait on the way.
//
// The calling thread reads and expands; where there are processors for it, others look at the
// contents (hashes and parsing are most of the work). Only for programs that do not fork.
#pragma once

#include <functional>
#include <string>
#include <unordered_map>
#include <vector>

#include "content_expansion.h"
#include "quarry/repository/walk_bounds.h"

namespace quarry::repository {

class ArtifactWalk {
 public:
  /// A row of `blob`.
  struct Artifact {
    Rid rid = 0;
    std::string name;
    std::int64_t size = -1;  // as the row says; negative: a phantom
  };
  struct Visitor {
    /// Several threads call it at once, in no order.
    std::function<void(const Artifact&, const std::string& content)> look;
    /// What cannot be read: kCorrupt, kLimit; or kNotFound where it or what it is made from is a
    /// phantom. In the calling thread.
    std::function<void(const Artifact&, const base::Error&)> fail;
    /// (done, total) artifacts, phantoms included. In the calling thread.
    std::function<void(std::size_t, std::size_t)> progress;
  };

  /// Neither is owned. CONTENTS reads what has to be read twice, since memory has a bound.
  ArtifactWalk(Database& database, ContentExpansion& contents, const WalkBounds& bounds)
      : database_(database), contents_(contents), bounds_(bounds) {}

  /// Calls VISITOR for every row of `blob`. What its functions throw comes out of here. Throws
  /// SqliteError.
  void run(const Visitor& visitor);
  /// How often an artifact has been made from what is stored.
  std::size_t expansions() const { return expansions_; }

 private:
  class Crew;
  struct Branch;
  struct Node {
    Rid source = 0;
    std::vector<Rid> children;
    std::size_t made_from = 1;  // artifacts, this one included
    bool is_visited = false;
  };

  std::vector<Rid> read_trees();
  void sort_children(const std::vector<Rid>& roots);
  const std::vector<Rid>& children_of(Rid rid) const;
  void walk_from(Rid root);
  base::Result<Content> visit(Rid rid, const base::Result<Content>& source);
  void visit_circles();
  void hold_back(std::vector<Branch>& branches);

  Database& database_;
  ContentExpansion& contents_;
  WalkBounds bounds_;
  const Visitor* visitor_ = nullptr;
  Crew* crew_ = nullptr;
  std::unordered_map<Rid, Node> nodes_;  // what is made from another one, or another from it
  std::size_t total_ = 0;
  std::size_t done_ = 0;
  std::size_t expansions_ = 0;
};

}  // namespace quarry::repository
