#include "compaction/compaction_progress.h"

#include <doctest/doctest.h>

using namespace quarry::repository;

TEST_CASE("the row of the progress is read back as written, and ignored if malformed") {
  const CompactionProgress progress{
      .done = 10, .whole = 9, .phantoms = 2, .top = 30, .next = 20, .bottom = 10, .turned = 5};
  CHECK(CompactionProgress::parse(progress.text()) == progress);
  for (const char* text :
       {"", "x", "1 2 3", "1 2 3 4 5 6 -7", "1 2 3 4 5 99999999999999999999 7"}) {
    CHECK(CompactionProgress::parse(text) == CompactionProgress{});
  }
}

TEST_CASE("a pass covers new artifacts, and all of them after growth by a quarter") {
  CompactionProgress progress{
      .done = 100, .whole = 100, .phantoms = 1, .top = 0, .next = 0, .bottom = 0, .turned = 0};
  progress.begin(100, 1, true);
  CHECK_FALSE(progress.is_under_way());
  progress.begin(110, 1, false);
  CHECK(progress.next == 110);
  CHECK(progress.bottom == 100);
  progress.begin(115, 1, true);
  CHECK(progress.next == 115);
  CHECK(progress.bottom == 0);
  progress.end(1);
  CHECK(progress.whole == 115);
  progress.begin(115, 0, false);
  CHECK(progress.bottom == 0);
  CHECK(progress.is_under_way());
  progress.end(0);
  progress.begin(144, 0, false);
  CHECK(progress.bottom == 0);
}
