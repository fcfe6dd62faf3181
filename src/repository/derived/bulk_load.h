// Makes the computation of all derived tables faster, if they are empty at the start. Frequently
// needed data is held in memory, rows are written in table order, and indexes that are not needed
// during the computation are created at the end.
//
// The derivation does not use this class if a tag sets the parents of check-ins, because links that
// are held in memory cannot be removed.
#pragma once

#include <map>
#include <string>

#include "derived/common/work.h"

namespace quarry::repository {

class BulkLoad {
 public:
  /// Arguments are not owned.
  explicit BulkLoad(Work& work) : work_(work) {}

  // All functions throw SqliteError.

  /// Sets Work::is_whole.
  void begin();
  /// Writes all links, tags, and inherited tags. Marks rows to recompute. Call after all artifacts
  /// have been added.
  void write_lineage_and_tags();
  /// Creates the indexes and releases the memory. Call after all rows have been written.
  void end();

 private:
  void drop_index(const char* name);
  void make_index(const std::string& name);

  Work& work_;
  std::map<std::string, std::string> dropped_indexes_;  // name and SQL
};

}  // namespace quarry::repository
