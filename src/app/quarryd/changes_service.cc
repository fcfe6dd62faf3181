#include "changes_service.h"

#include <fmt/core.h>

#include <filesystem>
#include <utility>

#include "changes_directives.h"
#include "courier_service.h"
#include "quarry/base/log.h"
#include "quarry/master/directive_table.h"

namespace quarry::app {

bool has_changes(const master::PoolConfig& pool, const changes::PoolOptions& options) {
  if (!options.is_enabled) return false;
  if (pool.process.chroot.empty()) return true;
  base::log(
      base::LogLevel::kNotice,
      "[pool {}] has a chroot, in which there are no programs: it has no queues of change sets",
      pool.name);
  return false;
}

std::vector<std::string> changes_arguments(const master::PoolConfig& pool,
                                           const changes::PoolOptions& options,
                                           const EventTarget& courier) {
  static constexpr auto kWords = changes_directives<QueueDirectiveOptions>();
  const std::span<const master::Directive<QueueDirectiveOptions>> table(kWords);
  const auto defaults = master::shown_in(table, QueueDirectiveOptions{});
  const auto wanted = master::shown_in(table, QueueDirectiveOptions{options});
  std::vector<std::string> words;
  if (!courier.socket.empty()) words.insert(words.end(), {"--courier", courier.socket});
  if (courier.has_notices) words.emplace_back("--notices");
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    // `changes` itself is implied by starting the program.
    if (wanted[i].name == "changes" || wanted[i].values == defaults[i].values) continue;
    for (const std::string& value : wanted[i].values) {
      words.insert(words.end(), {"--set", fmt::format("{}={}", wanted[i].name, value)});
    }
  }
  const bool is_one = !pool.repository.empty();
  if (!is_one) words.emplace_back("--folder");
  words.push_back(std::filesystem::absolute(is_one ? pool.repository : pool.repositories).string());
  return words;
}

std::vector<master::Service> changes_services(const master::PoolConfig& pool,
                                              const changes::PoolOptions& options,
                                              const EventTarget& courier) {
  std::vector<master::Service> services;
  if (!has_changes(pool, options)) return services;
  for (const char* kind : {"prequeue", "queueing", "execution"}) {
    master::Service service;
    service.name = fmt::format("{} {}", kind, pool.name);
    service.kind = master::ServiceKind::kJob;
    service.run_as = pool.run_as;
    service.process = pool.process;
    service.process.catch_output = true;  // so that its output is logged
    service.processes.max_children = 1;
    // Never two at a time, because each holds the queue's pid file.
    service.starts_alone = true;
    std::vector<std::string> words = changes_arguments(pool, options, courier);
    words.insert(words.begin(), {"quarry-changes", kind});
    service.program =
        master::Program{program_beside("quarry-changes", QUARRY_SERVER_FOLDER), std::move(words)};
    services.push_back(std::move(service));
  }
  return services;
}

}  // namespace quarry::app
