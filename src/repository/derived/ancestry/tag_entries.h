// Rows of `tagxref`: which tag is on which artifact.
//
// While everything is computed, the cards are collected in memory first. Then one walk from parents
// to children finds what each artifact inherits (most have what their parent has, and share it),
// and writes all rows, in the order of their index.
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
  Rid source;  // whose T card put it there; 0: it is inherited
  Rid origin;  // the artifact that the card is about
  std::optional<std::string> value;
  double day;
  friend bool operator==(const TagEntry&, const TagEntry&) = default;
};

class TagEntries {
 public:
  /// DATABASE is not owned.
  explicit TagEntries(Database& database) : database_(database) {}

  // All throw SqliteError.

  /// The entry for TAG on RID, if there is one; before spread(), none that is inherited.
  std::optional<TagEntry> get(std::int64_t tag, Rid rid);
  void put(std::int64_t tag, Rid rid, const TagEntry& entry);
  /// Not while they are held.
  void remove(std::int64_t tag, Rid rid);

  /// From now on they are collected in memory. The table is empty.
  void hold();
  bool is_held() const { return is_held_; }
  /// Finds what is inherited along LINEAGE, and writes all. INHERITED is told what each artifact
  /// inherits. Nothing is put or removed after that while they are held.
  void spread(Lineage& lineage, const std::function<void(std::int64_t tag, Rid rid)>& inherited);
  /// Forgets what is held: the table is asked again.
  void let_go();

 private:
  using Own = std::vector<std::pair<std::int64_t, TagEntry>>;  // by tag
  /// What children inherit, by tag. The entries are those that cards have made, in own_.
  using Passed = std::vector<std::pair<std::int64_t, const TagEntry*>>;
  using SharedPassed = std::shared_ptr<const Passed>;

  /// An artifact that has tags or children, in the order of a walk along primary parents.
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
  std::vector<TaggedArtifact> artifacts_;
  std::unordered_map<Rid, std::size_t> positions_;  // in artifacts_
};

}  // namespace quarry::repository
