#include "quarry/scoreboard/overview.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <string>

#include "quarry/base/fd.h"
#include "shared_state.h"

namespace quarry::scoreboard {

struct Overview::Memory {
  SharedState<PoolOverview> pool;
};

PoolOverview overview_of(const PoolSnapshot& snapshot) {
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
  return overview;
}

base::Result<std::shared_ptr<Overview>> Overview::create(std::size_t pools) {
  const std::size_t size = std::max<std::size_t>(pools, 1) * sizeof(Memory);
  const base::Fd file(::memfd_create("quarry-overview", MFD_CLOEXEC));
  if (!file || ::ftruncate(file.get(), static_cast<off_t>(size)) != 0) {
    return base::fail_errno("cannot make the memory of the overview");
  }
  // What is mapped of a descriptor that cannot write stays so.
  const std::string path = fmt::format("/proc/self/fd/{}", file.get());
  const base::Fd reading(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!reading) return base::fail_errno("cannot open the memory of the overview");
  void* const written = ::mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_SHARED, file.get(), 0);
  void* const read = ::mmap(nullptr, size, PROT_READ, MAP_SHARED, reading.get(), 0);
  const bool is_mapped = written != MAP_FAILED && read != MAP_FAILED;
  if (!is_mapped || ::madvise(written, size, MADV_DONTFORK) != 0) {
    auto failure = base::fail_errno("cannot map the memory of the overview");
    if (written != MAP_FAILED) ::munmap(written, size);
    if (read != MAP_FAILED) ::munmap(read, size);
    return failure;
  }
  return std::shared_ptr<Overview>(
      new Overview(pools, static_cast<Memory*>(written), static_cast<const Memory*>(read)));
}

Overview::~Overview() {
  const std::size_t size = std::max<std::size_t>(pools_, 1) * sizeof(Memory);
  if (own_pid() == maker_) ::munmap(written_, size);
  ::munmap(const_cast<Memory*>(read_), size);
}

int Overview::own_pid() {
  return ::getpid();
}

void Overview::publish(std::size_t index, const PoolSnapshot& snapshot) {
  if (index >= pools_ || own_pid() != maker_) return;
  write_state(written_[index].pool, overview_of(snapshot));
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
