#include "engine_state.h"

#include <utility>

#include "memory_store.h"

namespace quarry::spool {

EngineState::EngineState(EngineSetup given)
    : setup(std::move(given)),
      disk(setup.disk.get()),
      high_watermark(setup.options.high_watermark.value_or(0)),
      low_watermark(setup.options.low_watermark.value_or(0)) {
  if (disk != nullptr) {
    store = std::move(setup.disk);
  } else {
    store = std::make_unique<MemoryStore>();
  }
}

void EngineState::refresh_progress() {
  if (!is_read_elsewhere()) return;
  disk->refresh_progress();
  count();
}

}  // namespace quarry::spool
