// Where a compaction is: the row `quarry-compaction` of `config`, seven numbers.
//
//   DONE       all artifacts up to this row number have been looked at by passes that are over
//   WHOLE      all of them up to this one in a single pass, so that nothing was passed over
//   PHANTOMS   so many of those up to DONE were phantoms then
//   TOP        the pass that is going on began here,
//   NEXT       goes on here (0: there is none), downwards,
//   BOTTOM     and ends above this; 0: it looks at everything
//   TURNED     when a delta was taken away last, in seconds since 1970 (0: never)
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "quarry/repository/rid.h"
#include "store/database.h"

namespace quarry::repository {

struct CompactionProgress {
  Rid done = 0;
  Rid whole = 0;
  std::int64_t phantoms = 0;
  Rid top = 0;
  Rid next = 0;
  Rid bottom = 0;
  std::int64_t turned = 0;

  static constexpr std::string_view kRow = "quarry-compaction";

  static CompactionProgress parse(std::string_view text);
  std::string text() const;

  // Both inside a transaction; throw SqliteError.
  static CompactionProgress read(Database& database);
  /// NOW in seconds since 1970.
  void write(Database& database, std::int64_t now) const;

  bool is_under_way() const { return next > 0; }
  /// Begins a pass if one is to be made of a file whose last row number is LAST, and which has
  /// PHANTOMS_NOW up to DONE.
  void begin(Rid last, std::int64_t phantoms_now, bool is_whole);
  /// The pass is over.
  void end(std::int64_t phantoms_now);

  bool operator==(const CompactionProgress&) const = default;
};

/// The phantoms up to LAST.
std::int64_t phantoms_up_to(Database& database, Rid last);

}  // namespace quarry::repository
