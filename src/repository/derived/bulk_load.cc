#include "bulk_load.h"

#include <fmt/core.h>

namespace quarry::repository {

void BulkLoad::begin() {
  work_.is_whole = true;
  work_.lineage.hold();
  work_.tags.hold();
  work_.names.hold();
  // Also drop event_i1: the times of check-ins can change during the computation, and each change
  // would update this index.
  for (const char* index :
       {"plink_i2", "tagxref_i1", "mlink_i1", "mlink_i2", "mlink_i3", "mlink_i4", "event_i1"}) {
    drop_index(index);
  }
}

void BulkLoad::drop_index(const char* name) {
  const std::string sql = work_.database.first_text(
      "SELECT sql FROM sqlite_schema WHERE type='index' AND name=?1", name);
  if (sql.empty()) return;
  dropped_indexes_[name] = sql;
  work_.database.execute(fmt::format("DROP INDEX {}", name));
}

void BulkLoad::make_index(const std::string& name) {
  const auto dropped = dropped_indexes_.extract(name);
  if (dropped) work_.database.run_definition(dropped.mapped());
}

void BulkLoad::write_lineage_and_tags() {
  work_.lineage.write();
  work_.tags.spread(work_.lineage,
                    [this](std::int64_t tag, Rid rid) { work_.pending.note_tag_change(tag, rid); });
  make_index("plink_i2");
  make_index("tagxref_i1");
}

void BulkLoad::end() {
  while (!dropped_indexes_.empty()) make_index(dropped_indexes_.begin()->first);
  work_.is_whole = false;
  work_.lineage.let_go();
  work_.tags.let_go();
  work_.names.forget_all();
}

}  // namespace quarry::repository
