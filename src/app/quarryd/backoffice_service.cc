#include "backoffice_service.h"

#include <fmt/core.h>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "courier_service.h"
#include "peers_service.h"
#include "quarry/backoffice/turn.h"
#include "quarry/base/log.h"
#include "quarry/repository/repository_name.h"

namespace quarry::app {
namespace {

// Means all repositories. If number_of() of a name has this value too, they all have a run.
constexpr std::uint32_t kAllRepositories = 0;

constexpr std::chrono::milliseconds kGraceTime{60'000};

std::vector<std::string> arguments_for(const master::PoolConfig& pool,
                                       const worker::BackgroundOptions& options,
                                       const std::string& courier) {
  const auto lease = std::chrono::ceil<std::chrono::seconds>(options.lease_time);
  std::vector<std::string> words{"quarry", "backoffice", "--automatic", "--lease-time",
                                 std::to_string(lease.count())};
  if (!courier.empty()) words.insert(words.end(), {"--courier", courier});
  if (options.compacts) words.emplace_back("--compact");
  const bool is_one = !pool.repository.empty();
  if (!is_one) words.insert(words.end(), {"--folder"});
  words.push_back(std::filesystem::absolute(is_one ? pool.repository : pool.repositories).string());
  return words;
}

}  // namespace

std::optional<master::Service> backoffice_service(const master::PoolConfig& pool,
                                                  const master::Service& pool_service,
                                                  const worker::BackgroundOptions& options,
                                                  const std::string& courier) {
  if (!options.is_enabled) return std::nullopt;
  if (!pool.process.chroot.empty()) {
    base::log(
        base::LogLevel::kNotice,
        "[{}] has a chroot, in which there are no programs: nothing runs the backoffice of its "
        "repositories (see \"backoffice\" in quarry.conf(5))",
        pool_service.name);
    return std::nullopt;
  }
  master::Service service;
  service.name = fmt::format("backoffice {}", pool.name);
  service.kind = master::ServiceKind::kJob;
  service.run_as = pool.run_as;
  service.process = pool.process;
  service.process.catch_output = true;  // so that its output is logged
  service.processes.max_children = options.max_children;
  // A process that sleeps until its lease begins must not be killed before that.
  service.longest_run = std::max(options.longest_run, 2 * options.lease_time + kGraceTime);
  const auto program_for =
      [path = program_beside("quarry", QUARRY_PROGRAM_FOLDER), pool = pool_service.name,
       peers = peers_service_name(pool.name), own = service.name,
       is_folder = pool.repository.empty(), words = arguments_for(pool, options, courier)](
          const std::string& from, std::uint32_t number) -> std::optional<master::Program> {
    if (from != pool && from != peers && from != own) return std::nullopt;
    std::vector<std::string> arguments = words;
    if (is_folder && from != own) {
      arguments.insert(arguments.end(), {"--number", std::to_string(number)});
    }
    return master::Program{path, std::move(arguments)};
  };
  service.on_request = master::OnRequest{.verb = control::Verb::kBackoffice,
                                         .program_for = program_for,
                                         .from = {pool_service.name, peers_service_name(pool.name)},
                                         .max_paused = options.max_sleepers};
  const auto every = std::chrono::duration_cast<std::chrono::seconds>(options.interval);
  if (every.count() > 0) {
    // With a courier, run at the start to record the current state, so that later events can be
    // found.
    service.on_request->of_itself.push_back(
        {.number = kAllRepositories, .every = every, .at_start = !courier.empty()});
  }
  return service;
}

base::Result<worker::BackgroundCheck> look_for_work(repository::Repository& repository,
                                                    std::chrono::milliseconds lease_time) {
  const backoffice::TurnOptions options{.lease_time =
                                            std::chrono::ceil<std::chrono::seconds>(lease_time)};
  QUARRY_TRY_ASSIGN(const auto forecast, backoffice::forecast_run(repository, options));
  return worker::BackgroundCheck{forecast.is_wanted, forecast.until};
}

}  // namespace quarry::app
