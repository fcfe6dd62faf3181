#include "quarry/scoreboard/overview.h"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <string>

#include "quarry/base/fd.h"
#include "shared_memory.h"
#include "shared_state.h"

namespace quarry::scoreboard {

struct Overview::Memory {
  SharedState<PoolOverview> pool;
};

PoolOverview overview_of(const PoolSnapshot& snapshot, std::span<const Refusal> refusals) {
  PoolOverview overview{.monotonic_now = snapshot.monotonic_now,
                        .state = snapshot.state,
                        .active = snapshot.active,
                        .children = snapshot.processes.size(),
                        .totals = snapshot.totals,
                        .has_length = snapshot.queue ? 1U : 0U,
                        .length = snapshot.queue.value_or(base::QueueLength{})};
  overview.pool.assign(snapshot.pool);
  std::string stages;
  for (const SlotState& child : snapshot.processes) {
    if (stages.size() == PoolOverview::kMostStages) break;
    stages += static_cast<char>('0' + static_cast<int>(child.stage));
  }
  overview.stages.assign(stages);
  const auto recent = refusals.first(std::min(refusals.size(), overview.refusals.size()));
  std::ranges::copy(recent, overview.refusals.begin());
  return overview;
}

base::Result<std::shared_ptr<Overview>> Overview::create(std::size_t pools) {
  const std::size_t size = std::max<std::size_t>(pools, 1) * sizeof(Memory);
  QUARRY_TRY_ASSIGN(const base::Fd memory, make_memory("overview", size));
  QUARRY_TRY_ASSIGN(void* const read, map_for_reading(memory.get(), size));
  auto written = map_for_writing(memory.get(), size);
  if (written && ::madvise(*written, size, MADV_DONTFORK) != 0) {
    const auto failure = base::fail_errno("cannot keep the overview's memory from children");
    ::munmap(*written, size);
    written = failure;
  }
  if (!written) {
    ::munmap(read, size);
    return std::unexpected(std::move(written).error());
  }
  return std::shared_ptr<Overview>(
      new Overview(pools, static_cast<Memory*>(*written), static_cast<const Memory*>(read)));
}

Overview::~Overview() {
  const std::size_t size = std::max<std::size_t>(pools_, 1) * sizeof(Memory);
  if (own_pid() == maker_) ::munmap(written_, size);
  ::munmap(const_cast<Memory*>(read_), size);
}

int Overview::own_pid() {
  return ::getpid();
}

void Overview::publish(std::size_t index, const PoolSnapshot& snapshot,
                       std::span<const Refusal> refusals) {
  if (index >= pools_ || own_pid() != maker_) return;
  write_state(written_[index].pool, overview_of(snapshot, refusals));
}

std::vector<PoolOverview> Overview::read() const {
  std::vector<PoolOverview> all;
  for (std::size_t i = 0; i < pools_; ++i) {
    const auto copy = copy_state(read_[i].pool);
    if (!copy.is_torn && copy.state.monotonic_now != 0) all.push_back(copy.state);
  }
  return all;
}

}  // namespace quarry::scoreboard
