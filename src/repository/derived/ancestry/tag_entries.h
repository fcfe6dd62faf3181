// Rows of `tagxref`: the tags of each artifact.
//
// A complete recomputation first collects the cards in memory. Then a single walk from parents to
// children determines the inherited tags and writes all rows in index order. If an artifact
// inherits the same tags as its parent, the two share one list in memory.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "lineage.h"
#include "quarry/artifact/structural.h"
#include "quarry/repository/rid.h"
#include "store/database.h"

namespace quarry::repository {

constexpr int kCancelTag = 0;
constexpr int kSingleTag = 1;
constexpr int kPropagatingTag = 2;

int tag_type(const artifact::TagCard& card);

struct TagEntry {
  int type;
  Rid source;  // the artifact with the T card; 0 if inherited
  Rid origin;  // the target of the card
  std::optional<std::string> value;
  double day;
  friend bool operator==(const TagEntry&, const TagEntry&) = default;
};

class TagEntries {
 public:
  /// DATABASE is not owned.
  explicit TagEntries(Database& database) : database_(database) {}

  // All functions throw SqliteError.

  /// Returns the entry for TAG on RID, or nullopt if it does not exist. Before spread() is called,
  /// finds only entries that are not inherited.
  std::optional<TagEntry> get(std::int64_t tag, Rid rid);
  void put(std::int64_t tag, Rid rid, const TagEntry& entry);
  /// Removes the entry for TAG on RID. Must not be called while entries are held in memory.
  void remove(std::int64_t tag, Rid rid);

  /// Begins to collect entries in memory. The table must be empty.
  void hold();
  bool is_held() const { return is_held_; }
  /// Computes inherited entries along LINEAGE, and writes all rows. Calls INHERITED for each
  /// inherited entry. put() and remove() must not be called between spread() and let_go().
  void spread(Lineage& lineage, const std::function<void(std::int64_t tag, Rid rid)>& inherited);
  /// Releases the memory, and uses the table again.
  void let_go();

 private:
  using Own = std::vector<std::pair<std::int64_t, TagEntry>>;  // sorted by tag
  /// Entries that children inherit, sorted by tag. They point into own_.
  using Passed = std::vector<std::pair<std::int64_t, const TagEntry*>>;
  using SharedPassed = std::shared_ptr<const Passed>;

  /// An artifact that has tags or children.
  struct TaggedArtifact {
    Rid rid;
    SharedPassed inherited;
  };

  const TagEntry* find_own(std::int64_t tag, Rid rid) const;
  const TagEntry* find_inherited(std::int64_t tag, Rid rid) const;
  static SharedPassed passed_on(const SharedPassed& inherited, const Own& own);
  void walk(Lineage& lineage);
  void write(const TaggedArtifact& artifact);

  Database& database_;
  bool is_held_ = false;
  std::unordered_map<Rid, Own> own_;
  std::vector<TaggedArtifact> artifacts_;           // parents before children
  std::unordered_map<Rid, std::size_t> positions_;  // positions in artifacts_
};

}  // namespace quarry::repository
