// The position of a compaction. It is stored as seven numbers in the row `quarry-compaction` of
// `config`:
//
//   DONE       completed passes have processed all artifacts up to this rid
//   WHOLE      a single pass has processed all artifacts up to this rid
//   PHANTOMS   number of phantoms up to DONE at the end of the last pass
//   TOP        the rid at which the current pass began
//   NEXT       the rid at which the pass continues downwards; 0 if no pass is running
//   BOTTOM     the pass ends above this rid; 0 for all artifacts
//   TURNED     time of the last replacement of a delta, in seconds since 1970; 0 for never
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

  // Use read() and write() inside a transaction. They throw SqliteError.
  static CompactionProgress read(Database& database);
  /// NOW is in seconds since 1970.
  void write(Database& database, std::int64_t now) const;

  bool is_under_way() const { return next > 0; }
  /// Begins a pass if a pass is needed. LAST is the highest rid in the file, and PHANTOMS_NOW the
  /// number of phantoms up to DONE.
  void begin(Rid last, std::int64_t phantoms_now, bool is_whole);
  void end(std::int64_t phantoms_now);

  bool operator==(const CompactionProgress&) const = default;
};

/// Returns the number of phantoms up to LAST.
std::int64_t phantoms_up_to(Database& database, Rid last);

}  // namespace quarry::repository
