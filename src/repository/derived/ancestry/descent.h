// Who is an ancestor of whom along primary parents, for many questions at once: a walk from parents
// to children numbers all, and the descendants of each are those with the numbers that follow its
// own.
#pragma once

#include <unordered_map>
#include <vector>

#include "lineage.h"

namespace quarry::repository {

class Descent {
 public:
  explicit Descent(const std::vector<ParentLink>& links);

  /// A card about RID.
  struct Card {
    Rid rid;
    double day;
    bool is_own;  // in RID itself
  };
  /// Whether one of CARDS, not its artifact's own, is not later than one on an ancestor.
  bool has_later_above(std::vector<Card> cards) const;

 private:
  struct Span {
    std::size_t begin, end;
  };
  std::unordered_map<Rid, Span> spans_;  // what is not in a tree has neither ancestors nor others
};

}  // namespace quarry::repository
