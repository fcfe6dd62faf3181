#include "compaction_progress.h"

#include <fmt/core.h>

#include "quarry/base/number.h"

namespace quarry::repository {
CompactionProgress CompactionProgress::parse(std::string_view text) {
  CompactionProgress read;
  for (std::int64_t* number : {&read.done, &read.whole, &read.phantoms, &read.top, &read.next,
                               &read.bottom, &read.turned}) {
    *number = base::take_number<std::int64_t>(text).value_or(-1);
    // A malformed value is treated as missing, so all artifacts are processed.
    if (*number < 0) return {};
  }
  return read;
}

std::string CompactionProgress::text() const {
  return fmt::format("{} {} {} {} {} {} {}", done, whole, phantoms, top, next, bottom, turned);
}

CompactionProgress CompactionProgress::read(Database& database) {
  return parse(database.first_text("SELECT value FROM config WHERE name=?1", kRow));
}

void CompactionProgress::write(Database& database, std::int64_t now) const {
  database.execute("INSERT OR REPLACE INTO config(name,value,mtime) VALUES(?1,?2,?3)", kRow, text(),
                   now);
}

void CompactionProgress::begin(Rid last, std::int64_t phantoms_now, bool is_whole) {
  const bool goes_on = is_under_way() && next <= last && (bottom == 0 || !is_whole);
  if (goes_on) return;
  next = 0;
  // If rows were deleted or a phantom was filled, an artifact with any rid can be new, so the pass
  // has to process all artifacts.
  const bool is_odd = last < done || phantoms_now != phantoms;
  const bool has_grown = last - whole > whole / 4;
  if (!is_odd && last == done && (!is_whole || whole == done)) return;
  top = next = last;
  bottom = is_odd || has_grown || is_whole ? 0 : done;
}

void CompactionProgress::end(std::int64_t phantoms_now) {
  done = top;
  if (bottom == 0) whole = top;
  phantoms = phantoms_now;
  top = next = bottom = 0;
}

std::int64_t phantoms_up_to(Database& database, Rid last) {
  return database.first_integer("SELECT count(*) FROM phantom AS p WHERE p.rid<=?1", last);
}

}  // namespace quarry::repository
