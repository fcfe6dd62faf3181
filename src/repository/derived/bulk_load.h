// Everything is computed at once, in empty tables: what is asked again and again is held in memory,
// rows are written in the order of their table, and the indexes that no part needs meanwhile are
// made at the end.
//
// Not where a tag gives check-ins other parents, since links that are held are not taken back.
#pragma once

#include <map>
#include <string>

#include "derived/common/work.h"

namespace quarry::repository {

class BulkLoad {
 public:
  /// None is owned.
  explicit BulkLoad(Work& work) : work_(work) {}

  // All throw SqliteError.

  /// From now on Work::is_whole.
  void begin();
  /// All links and cards are there: writes them, and what is inherited. Marks.
  void write_lineage_and_tags();
  /// Everything is written: makes the indexes, and forgets what is held.
  void end();

 private:
  void drop_index(const char* name);
  void make_index(const std::string& name);

  Work& work_;
  std::map<std::string, std::string> dropped_indexes_;  // and how they are made
};

}  // namespace quarry::repository
