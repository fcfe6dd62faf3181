#include "pages_service.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdint>
#include <functional>
#include <unordered_map>
#include <utility>

#include "quarry/base/log.h"
#include "quarry/control/reopened_logs.h"
#include "quarry/pages/pages.h"

namespace quarry::app {
namespace {

// Minimum time between two requests for background work, if no page has written to the repository.
constexpr std::chrono::seconds kReadingInterval{1};

using PageCounter = pages::Counter pages::PageCounters::*;
constexpr auto kPageCounters = std::to_array<std::pair<const char*, PageCounter>>({
    {"requests", &pages::PageCounters::requests},
    {"made", &pages::PageCounters::made},
    {"from cache", &pages::PageCounters::from_cache},
    {"shared", &pages::PageCounters::shared},
    {"refused", &pages::PageCounters::refused},
    {"failed", &pages::PageCounters::failed},
    {"failed logins", &pages::PageCounters::failed_logins},
});

/// Returns the figures of SERVICE. The counters continue those in EARLIER. They use the same memory
/// or, if the layout or the user has changed, new memory with the same values. Errors: kIo.
Result<std::shared_ptr<const pages::Figures>> figures_of(const master::Service& service,
                                                         EarlierFigures& earlier) {
  auto memory = earlier.take_memory(service.name, pages::PageCounters::kLayout, service.run_as);
  if (memory) {
    if (auto continued = pages::Figures::make(std::move(memory))) return continued;
  }
  QUARRY_TRY_ASSIGN(const auto figures, pages::Figures::make());
  QUARRY_TRY_ASSIGN(const auto writable, figures->writable());
  const auto& values = earlier.counters[service.name];
  for (const auto& [name, counter] : kPageCounters) {
    if (const auto at = values.find(name); at != values.end()) {
      writable.counters().*counter = at->second;
    }
  }
  return figures;
}

/// Returns the function that requests background work after a page (pages::Handles::after_request).
std::function<void(std::uint32_t, bool)> background_requests(const control::Channel& master) {
  using std::chrono::steady_clock;
  return [&master, latest = std::unordered_map<std::uint32_t, steady_clock::time_point>()](
             std::uint32_t repository, bool may_have_written) mutable {
    steady_clock::time_point& last = latest[repository];
    const auto now = steady_clock::now();
    if (!may_have_written && now - last < kReadingInterval) return;
    last = now;
    if (may_have_written) master.send({control::Verb::kEvents, repository});
    master.send({control::Verb::kBackoffice, repository});
  };
}

}  // namespace

base::Fd EarlierFigures::take_memory(std::string_view name, std::uint64_t layout,
                                     const std::optional<master::Credentials>& run_as) {
  const auto found = std::ranges::find_if(memories, [&](const auto& each) {
    return each.name == name && each.layout == layout && each.writer == master::writer_for(run_as);
  });
  if (found == memories.end()) return {};
  return base::Fd(::fcntl(found->fd.get(), F_DUPFD_CLOEXEC, STDERR_FILENO + 1));
}

Result<std::optional<PagesService>> pages_service(const master::PoolConfig& pool,
                                                  const worker::WorkerOptions& all,
                                                  EarlierFigures& earlier) {
  const pages::Options& options = all.pages;
  if (options.source == pages::Source::kNone) return std::nullopt;
  if (!pool.process.chroot.empty()) {
    base::log(base::LogLevel::kNotice, "[pool {}] web pages are not available in a chroot",
              pool.name);
    return std::nullopt;
  }
  QUARRY_TRY_ASSIGN(auto connections, base::PassedConnections::make());
  auto shared = std::make_shared<base::PassedConnections>(std::move(connections));
  master::Service service;
  service.name = fmt::format("pages {}", pool.name);
  service.kind = master::ServiceKind::kJob;
  service.run_as = pool.run_as;
  service.process = pool.process;
  service.processes.max_children = 1;
  service.ends_last = true;
  // Write to the pool's scoreboard, so that failed logins on pages count together with failed
  // logins of syncs.
  service.observes = fmt::format("pool {}", pool.name);
  service.writes_observed = true;
  service.kept_descriptors.push_back(shared->taking.get());
  const pages::ServedRepositories served{.repository = pool.repository,
                                         .repositories = pool.repositories,
                                         .trust_remote_user = all.trust_remote_user,
                                         .has_index = all.has_index};
  QUARRY_TRY_ASSIGN(const auto figures, figures_of(service, earlier));
  service.kept_memories.push_back(
      {service.name, figures->counters_fd(), pages::PageCounters::kLayout});
  service.kept_descriptors.push_back(figures->counters_fd());
  service.kept_descriptors.push_back(figures->gauges_fd());
  QUARRY_TRY_ASSIGN(const auto refusals,
                    scoreboard::RefusalTally::create(scoreboard::Refuser::kPages));
  service.kept_descriptors.push_back(refusals->fd());
  const auto log = all.access_log;
  if (log) service.kept_descriptors.push_back(log->fd());
  service.access_log = log;
  const worker::ReplicationOptions& replication = all.replication;
  const pages::ReplicaSocket replica{.path = replication.waits ? replication.socket : "",
                                     .time_out = replication.time_out};
  service.run = [options, served, shared, figures, refusals, log, replica, name = pool.name,
                 failures = all.admission.login_failures](master::ChildContext& child) {
    return pages::run(
        options, served,
        {.taking = shared->taking.get(),
         .figures = *figures,
         .pool = name,
         .access_log = log.get(),
         .reopen_logs = [&child, log] { control::take_logs(*child.control, log.get()); },
         .refusals = refusals.get(),
         .logins = child.observed == nullptr ? nullptr : &child.observed->logins(),
         .login_failures = failures,
         .after_request = background_requests(*child.control),
         .replica = replica});
  };
  service.figures = [program = options.program, figures] {
    master::ServiceFigures shown{.name = "pages",
                                 .about = fmt::format("{} {}", program, figures->version()),
                                 .numbers = {{"running", figures->gauges().running},
                                             {"waiting", figures->gauges().waiting},
                                             {"cache size", figures->gauges().cache_size}}};
    for (const auto& [name, counter] : kPageCounters) {
      shown.numbers.emplace_back(name, figures->counters().*counter);
    }
    return shown;
  };
  return PagesService{std::move(service), std::move(shared), figures, refusals};
}

}  // namespace quarry::app
