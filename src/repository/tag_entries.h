// Rows of `tagxref`: which tag is on which artifact.
#pragma once

#include <optional>
#include <string>

#include "database.h"
#include "quarry/artifact/structural.h"
#include "quarry/repository/repository.h"

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

/// The entry for TAG on RID, if there is one. Throws SqliteError, as all here do.
std::optional<TagEntry> tag_entry(Database& database, std::int64_t tag, Rid rid);
void write_tag_entry(Database& database, std::int64_t tag, Rid rid, const TagEntry& entry);
void remove_tag_entry(Database& database, std::int64_t tag, Rid rid);

}  // namespace quarry::repository
