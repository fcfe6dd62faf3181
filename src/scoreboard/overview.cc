#include "quarry/scoreboard/overview.h"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <string>

#include "quarry/base/fd.h"
#include "shared_state.h"

namespace quarry::scoreboard {
namespace {

using PoolStates = SharedState<PoolOverview>;
using JobStates = SharedState<JobOverview>;
using PeerStates = SharedState<PeerOverview>;

std::size_t size_of(const Overview::Sizes& sizes) {
  return sizes.pools * sizeof(PoolStates) + sizes.jobs * sizeof(JobStates) +
         sizes.peers * sizeof(PeerStates);
}

/// These functions return the arrays in the memory of an overview.
std::span<PoolStates> pools_in(const Mapping& memory, const Overview::Sizes& sizes) {
  return {static_cast<PoolStates*>(memory.get()), sizes.pools};
}
std::span<JobStates> jobs_in(const Mapping& memory, const Overview::Sizes& sizes) {
  return {reinterpret_cast<JobStates*>(pools_in(memory, sizes).data() + sizes.pools), sizes.jobs};
}
std::span<PeerStates> peers_in(const Mapping& memory, const Overview::Sizes& sizes) {
  return {reinterpret_cast<PeerStates*>(jobs_in(memory, sizes).data() + sizes.jobs), sizes.peers};
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

Result<std::shared_ptr<Overview>> Overview::create(const Sizes& sizes, base::Fd earlier) {
  const std::size_t size = size_of(sizes);
  base::Fd memory = std::move(earlier);
  if (!memory || !check_memory(memory.get(), size)) {
    QUARRY_TRY_ASSIGN(memory, make_memory("overview", size));
  }
  QUARRY_TRY_ASSIGN(Mapping read, map_for_reading(memory.get(), size));
  QUARRY_TRY_ASSIGN(Mapping written, map_for_writing(memory.get(), size));
  if (::madvise(written.get(), size, MADV_DONTFORK) != 0) {
    return fail_errno("cannot exclude the overview's memory from child processes");
  }
  return std::shared_ptr<Overview>(
      new Overview(sizes, std::move(memory), std::move(written), std::move(read)));
}

Overview::Overview(const Sizes& sizes, base::Fd fd, Mapping written, Mapping read)
    : sizes_(sizes),
      creator_(::getpid()),
      fd_(std::move(fd)),
      written_(std::move(written)),
      read_(std::move(read)) {}

Overview::~Overview() {
  // Do not unmap in a child. A child does not inherit this memory, and might have mapped other
  // memory at the same address.
  if (::getpid() != creator_) static_cast<void>(written_.release());
}

void Overview::publish(std::size_t index, const PoolSnapshot& snapshot,
                       std::span<const Refusal> refusals) {
  if (index >= sizes_.pools || ::getpid() != creator_) return;
  write_state(pools_in(written_, sizes_)[index], overview_of(snapshot, refusals));
}

void Overview::publish_jobs(std::size_t index, std::string_view service,
                            const JobFigures& figures) {
  if (index >= sizes_.jobs || ::getpid() != creator_) return;
  JobOverview overview{.service = {}, .figures = figures};
  overview.service.assign(service);
  write_state(jobs_in(written_, sizes_)[index], overview);
}

void Overview::publish_peer(std::size_t index, const PeerOverview& peer) {
  if (index >= sizes_.peers || ::getpid() != creator_) return;
  write_state(peers_in(written_, sizes_)[index], peer);
}

std::vector<PeerOverview> Overview::read_peers() const {
  std::vector<PeerOverview> all;
  for (const auto& peer : peers_in(read_, sizes_)) {
    const auto copy = copy_state(peer);
    all.push_back(copy.is_torn ? PeerOverview() : copy.state);
  }
  return all;
}

std::vector<JobOverview> Overview::read_jobs() const {
  std::vector<JobOverview> all;
  for (const auto& service : jobs_in(read_, sizes_)) {
    const auto copy = copy_state(service);
    if (!copy.is_torn && !copy.state.service.view().empty()) all.push_back(copy.state);
  }
  return all;
}

std::vector<PoolOverview> Overview::read() const {
  std::vector<PoolOverview> all;
  for (const auto& pool : pools_in(read_, sizes_)) {
    const auto copy = copy_state(pool);
    if (!copy.is_torn && copy.state.monotonic_now != 0) all.push_back(copy.state);
  }
  return all;
}

}  // namespace quarry::scoreboard
