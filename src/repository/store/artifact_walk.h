// Expands every artifact of a file once.
//
// Deltas form trees: the root is stored whole, and children are deltas on their parent. The walk is
// depth-first. The walk visits the largest subtree of an artifact last. At that time, the content
// of the artifact itself is no longer needed. Therefore, only a few contents are held in memory,
// even in a large repository.
//
// The calling thread reads and expands the artifacts. If the machine has several processors, other
// threads inspect the contents: they hash and parse the contents, which is most of the work. Use
// only in programs that do not fork.
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
    std::string name = {};
    std::int64_t size = -1;  // size in the row; negative for a phantom
  };
  struct Visitor {
    /// Called by several threads at the same time, in any order.
    std::function<void(const Artifact&, const std::string& content)> inspect;
    /// Called in the calling thread for artifacts that cannot be expanded: kCorrupt, kLimit, or
    /// kNotFound if the artifact or its source is a phantom.
    std::function<void(const Artifact&, const Error&)> fail;
    /// Called in the calling thread with (done, total) artifacts, including phantoms.
    std::function<void(std::size_t, std::size_t)> progress;
  };

  /// DATABASE and CONTENTS are not owned. If a content is needed again but is no longer in memory,
  /// CONTENTS expands it.
  ArtifactWalk(Database& database, ContentExpansion& contents, const WalkBounds& bounds)
      : database_(database), contents_(contents), bounds_(bounds) {}

  /// Calls VISITOR for every row of `blob`. Rethrows exceptions of VISITOR. Throws SqliteError.
  void run(const Visitor& visitor);
  /// Returns the total number of times that artifacts were expanded.
  std::size_t expansions() const { return expansions_; }

 private:
  class Inspectors;
  struct Branch;
  struct Node {
    Rid source = 0;
    std::vector<Rid> children;
    std::size_t tree_size = 1;  // number of artifacts in this subtree
    bool is_visited = false;
  };

  std::vector<Rid> read_trees();
  void sort_children(const std::vector<Rid>& roots);
  const std::vector<Rid>& children_of(Rid rid) const;
  void walk_from(Rid root);
  Result<Content> visit(Rid rid, const Result<Content>& source);
  void visit_cycles();
  void drop_contents(std::vector<Branch>& branches);

  Database& database_;
  ContentExpansion& contents_;
  WalkBounds bounds_;
  const Visitor* visitor_ = nullptr;
  Inspectors* inspectors_ = nullptr;
  std::unordered_map<Rid, Node> nodes_;  // only artifacts that are deltas or sources of deltas
  std::size_t total_ = 0;
  std::size_t done_ = 0;
  std::size_t expansions_ = 0;
};

}  // namespace quarry::repository
