#include "quarry/scoreboard/overview.h"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <string>

#include "quarry/base/fd.h"
#include "shared_state.h"

namespace quarry::scoreboard {
namespace {

/// Returns the services in MEMORY, which follow POOLS pools.
template <typename Jobs>
Jobs* jobs_in(void* memory, std::size_t pools) {
  return reinterpret_cast<Jobs*>(static_cast<SharedState<PoolOverview>*>(memory) + pools);
}

}  // namespace

PoolOverview overview_of(const PoolSnapshot& snapshot, std::span<const Refusal> refusals) {
  PoolOverview overview{.monotonic_now = snapshot.monotonic_now,
                        .state = snapshot.state,
                        .active = snapshot.active,
                        .children = snapshot.processes.size(),
                        .in_stage = snapshot.in_stage,
                        .totals = snapshot.totals,
                        .has_length = snapshot.queue ? 1U : 0U,
                        .length = snapshot.queue.value_or(base::QueueLength{})};
  overview.pool.assign(snapshot.pool);
  std::string stages;
  for (const SlotState& child : snapshot.processes) {
    if (stages.size() == PoolOverview::kMaxStages) break;
    stages += static_cast<char>('0' + static_cast<int>(child.stage));
  }
  overview.stages.assign(stages);
  const std::size_t busiest = std::min(snapshot.busiest.size(), overview.busiest.size());
  std::copy_n(snapshot.busiest.begin(), busiest, overview.busiest.begin());
  const auto recent = refusals.first(std::min(refusals.size(), overview.refusals.size()));
  std::ranges::copy(recent, overview.refusals.begin());
  return overview;
}

base::Result<std::shared_ptr<Overview>> Overview::create(std::size_t pools, std::size_t jobs) {
  const std::size_t size = std::max<std::size_t>(pools, 1) * sizeof(SharedState<PoolOverview>) +
                           jobs * sizeof(SharedState<JobOverview>);
  QUARRY_TRY_ASSIGN(const base::Fd memory, make_memory("overview", size));
  QUARRY_TRY_ASSIGN(Mapping read, map_for_reading(memory.get(), size));
  QUARRY_TRY_ASSIGN(Mapping written, map_for_writing(memory.get(), size));
  if (::madvise(written.get(), size, MADV_DONTFORK) != 0) {
    return base::fail_errno("cannot exclude the overview's memory from child processes");
  }
  return std::shared_ptr<Overview>(new Overview(pools, jobs, std::move(written), std::move(read)));
}

Overview::Overview(std::size_t pools, std::size_t jobs, Mapping written, Mapping read)
    : pools_(pools),
      jobs_(jobs),
      creator_(::getpid()),
      written_(std::move(written)),
      read_(std::move(read)) {}

Overview::~Overview() {
  // Do not unmap in a child. A child does not inherit this memory, and might have mapped other
  // memory at the same address.
  if (::getpid() != creator_) static_cast<void>(written_.release());
}

void Overview::publish(std::size_t index, const PoolSnapshot& snapshot,
                       std::span<const Refusal> refusals) {
  if (index >= pools_ || ::getpid() != creator_) return;
  auto* const pools = static_cast<SharedState<PoolOverview>*>(written_.get());
  write_state(pools[index], overview_of(snapshot, refusals));
}

void Overview::publish_jobs(std::size_t index, std::string_view service,
                            const JobFigures& figures) {
  if (index >= jobs_ || ::getpid() != creator_) return;
  JobOverview overview{.service = {}, .figures = figures};
  overview.service.assign(service);
  write_state(jobs_in<SharedState<JobOverview>>(written_.get(), pools_)[index], overview);
}

std::vector<JobOverview> Overview::read_jobs() const {
  std::vector<JobOverview> all;
  const auto* const jobs = jobs_in<const SharedState<JobOverview>>(read_.get(), pools_);
  for (const auto& service : std::span(jobs, jobs_)) {
    const auto copy = copy_state(service);
    if (!copy.is_torn && !copy.state.service.view().empty()) all.push_back(copy.state);
  }
  return all;
}

std::vector<PoolOverview> Overview::read() const {
  std::vector<PoolOverview> all;
  const auto* const pools = static_cast<const SharedState<PoolOverview>*>(read_.get());
  for (const auto& pool : std::span(pools, pools_)) {
    const auto copy = copy_state(pool);
    if (!copy.is_torn && copy.state.monotonic_now != 0) all.push_back(copy.state);
  }
  return all;
}

}  // namespace quarry::scoreboard
