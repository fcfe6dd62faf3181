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

void EngineState::count() {
  const std::uint64_t all = held();
  step();
  undelivered.store(all, std::memory_order_release);
  if (disk == nullptr) {
    setup.figures->set_size(all);
    return;
  }
  // Who only writes does not know what is delivered: what there may be.
  setup.figures->on_disk = setup.consumer ? all : disk->unsettled();
  setup.figures->disk_bytes = disk->bytes();
}

/// With disk assistance what consumers have counts no more: they may keep it for long, and the high
/// water mark has to be within reach then.
std::uint64_t EngineState::fullness() const {
  if (is_read_elsewhere()) return disk->unsettled();
  return is_da_enabled() ? store->waiting() : held();
}

void EngineState::look_for_progress() {
  if (!is_read_elsewhere()) return;
  disk->look_for_progress();
  count();
}

}  // namespace quarry::spool
