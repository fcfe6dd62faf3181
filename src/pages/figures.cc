#include "quarry/pages/figures.h"

#include "quarry/base/escape.h"

namespace quarry::pages {

Result<std::shared_ptr<Figures>> Figures::make(base::Fd earlier) {
  auto figures = std::make_shared<Figures>();
  if (earlier) {
    QUARRY_TRY(scoreboard::check_memory(earlier.get(), sizeof(PageCounters)));
    figures->counters_fd_ = std::move(earlier);
  } else {
    QUARRY_TRY_ASSIGN(figures->counters_fd_,
                      scoreboard::make_memory("page-counters", sizeof(PageCounters)));
  }
  QUARRY_TRY_ASSIGN(figures->gauges_fd_,
                    scoreboard::make_memory("page-gauges", sizeof(PageGauges)));
  QUARRY_TRY_ASSIGN(figures->counters_,
                    scoreboard::map_for_reading(figures->counters_fd(), sizeof(PageCounters)));
  QUARRY_TRY_ASSIGN(figures->gauges_,
                    scoreboard::map_for_reading(figures->gauges_fd(), sizeof(PageGauges)));
  return figures;
}

Result<Figures::Writable> Figures::writable() const {
  Writable writable;
  QUARRY_TRY_ASSIGN(writable.counters_,
                    scoreboard::map_for_writing(counters_fd(), sizeof(PageCounters)));
  QUARRY_TRY_ASSIGN(writable.gauges_, scoreboard::map_for_writing(gauges_fd(), sizeof(PageGauges)));
  return writable;
}

void Figures::Writable::set_version(std::string_view version) const {
  auto& letters = gauges().version;
  for (std::size_t i = 0; i < letters.size(); ++i)
    letters[i] = i < version.size() ? version[i] : '\0';
}

std::string Figures::version() const {
  std::string version;
  for (const auto& each : gauges().version) {
    if (each == '\0') break;
    version += each;
  }
  return base::printable(version);
}

}  // namespace quarry::pages
