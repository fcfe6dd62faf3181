// quarry-changes: the daemons of change-set queues. The master starts the daemons for each pool
// with queues, and `quarry queue run` starts them for one queue.
#include <fmt/core.h>

#include <algorithm>
#include <csignal>
#include <cstdio>
#include <exception>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "changes_directives.h"
#include "command_line.h"
#include "event_heads.h"
#include "quarry/base/file_system.h"
#include "quarry/base/log.h"
#include "quarry/base/number.h"
#include "quarry/base/split.h"
#include "quarry/changes/daemons.h"
#include "quarry/changes/executor.h"
#include "quarry/changes/tarball.h"
#include "quarry/control/channel.h"
#include "quarry/control/publication.h"
#include "quarry/event/event.h"
#include "quarry/repository/repository_name.h"
#include "quarry/spool/hand_over.h"
#include "queues.h"
#include "replicated_queue.h"
#include "tarball_checker.h"

namespace {

namespace app = quarry::app;
namespace base = quarry::base;
namespace changes = quarry::changes;
namespace control = quarry::control;
namespace event = quarry::event;
namespace fs = std::filesystem;
namespace master = quarry::master;
namespace repository = quarry::repository;
namespace spool = quarry::spool;

constexpr int kFailed = 1;
// Timeouts for sending an event to the courier. While the courier does not answer, the shorter one
// is used, because the queue waits for each event.
constexpr std::chrono::milliseconds kHandOverTime{5'000};
constexpr std::chrono::milliseconds kShortHandOverTime{200};

int failed(const quarry::Error& error) {
  base::log(base::LogLevel::kError, "{}", error.message);
  return kFailed;
}

quarry::Result<changes::PoolOptions> options_of(const app::ChangesCommandLine& line) {
  static constexpr auto kWords = app::changes_directives<app::QueueDirectiveOptions>();
  const std::span<const master::Directive<app::QueueDirectiveOptions>> table(kWords);
  app::QueueDirectiveOptions words;
  for (const std::string& each : line.settings) {
    const std::size_t equals = std::min(each.find('='), each.size());
    const std::string value = each.substr(std::min(equals + 1, each.size()));
    QUARRY_TRY(master::set_in(table, words, each.substr(0, equals), value));
  }
  return words.changes;
}

changes::TarballLimits limits_of(const changes::PoolOptions& options) {
  changes::TarballLimits limits;
  limits.tarball = options.max_size;
  limits.expanded = options.max_expanded;
  limits.file = std::min(limits.file, options.max_expanded);
  return limits;
}

changes::GateOptions gate_of(const changes::PoolOptions& options,
                             const changes::QueueOptions& queue) {
  const changes::GateWords& words = options.gate;
  changes::GateOptions gate;
  gate.command = base::split_words(words.program);
  gate.is_sandboxed = words.is_sandboxed;
  gate.user = words.user;
  gate.readable = base::split_words(words.readable);
  gate.hidden = {queue.repository.string(), queue.base.string()};
  gate.timeout = words.timeout;
  gate.memory = words.memory;
  gate.disk = words.disk;
  gate.processes = words.processes;
  return gate;
}

event::Event event_of(app::EventHeads& heads, const changes::QueueOptions& queue,
                      const changes::Job& job, changes::Stage from, changes::Stage to) {
  // Use the time in the job's history, because the time is part of the event's key, and an event
  // that is sent again must have the same key.
  const base::UnixMillis time =
      job.history.empty() ? base::system_clock().now() : job.history.back().time;
  event::Event event;
  event.head = heads.of(queue.repository);
  event.head.key = fmt::format("{}/change-set/{}/{}/{}", event.head.project_code, job.name.id.str(),
                               word_of(to), time.value);
  event.head.time = time;
  event.record =
      event::ChangeSet{.id = std::string(job.name.id.str()),
                       .branch = job.meta.target,
                       .submitter = job.submitter,
                       .state = std::string(word_of(to)),
                       .from = from == to ? std::string() : std::string(word_of(from)),
                       .detail = job.history.empty() ? std::string() : job.history.back().why};
  return event;
}

/// Returns the notice for the submitter if EVENT's change set has finished without landing and the
/// submitter's email address is known. Returns nullopt for all other events.
std::optional<event::Event> notice_of(app::EventHeads& heads, const changes::QueueOptions& queue,
                                      const event::Event& event, changes::Stage from,
                                      changes::Stage to) {
  if (from == to || to == changes::Stage::kDone || !changes::is_over(to)) return std::nullopt;
  const auto& change_set = std::get<event::ChangeSet>(event.record);
  std::string address = heads.address_of(queue.repository, change_set.submitter);
  if (address.empty()) return std::nullopt;
  event::Event notice = event;
  notice.head.key += "/notice";
  notice.record = event::Notice{.address = std::move(address), .change_set = change_set};
  return notice;
}

/// Returns a function that sends an event about each move to the courier. If the courier does not
/// accept an event, the error is logged and the queue continues.
changes::Report report_to_courier(const app::ChangesCommandLine& line, const fs::path& folder) {
  if (line.courier.empty()) return [](const auto&...) {};
  return [courier = line.courier, has_notices = line.has_notices,
          heads = std::make_shared<app::EventHeads>(folder),
          timeout = std::make_shared<std::chrono::milliseconds>(kHandOverTime)](
             const changes::QueueOptions& queue, const changes::Job& job, changes::Stage from,
             changes::Stage to) {
    const event::Event event = event_of(*heads, queue, job, from, to);
    std::vector<spool::NewMessage> messages = {{event::to_message(event), event.head.key}};
    if (const auto notice =
            has_notices ? notice_of(*heads, queue, event, from, to) : std::nullopt) {
      messages.push_back({event::to_message(*notice), notice->head.key});
    }
    const auto handed = spool::HandOver(courier, *timeout).hand_over(messages);
    const bool is_silent = !handed && handed.error().code == quarry::ErrorCode::kBusy;
    *timeout = is_silent ? kShortHandOverTime : kHandOverTime;
    if (handed) return;
    base::log(base::LogLevel::kWarning, "cannot report {} to the courier: {}", job.name.id.str(),
              handed.error().message);
  };
}

/// Returns the name of the repository FILE in its pool. FOLDER contains the repositories, or is "" if
/// a single repository is served.
std::string name_in_pool(const fs::path& file, const fs::path& folder) {
  return folder.empty() ? std::string()
                        : file.lexically_relative(folder).replace_extension().string();
}

app::ReplicatedRepository replicated(const app::ChangesCommandLine& line, const fs::path& file,
                                     const fs::path& folder) {
  return {.replica =
              control::Publication(line.replica, std::chrono::milliseconds(line.replica_timeout)),
          .pool = line.pool,
          .name = name_in_pool(file, folder)};
}

/// Returns a function that reports each landing to the master, which then starts the same jobs as
/// after a push. FOLDER: as above.
changes::Report request_jobs(const app::ChangesCommandLine& line, const fs::path& folder) {
  std::multimap<std::string, std::uint32_t> peers;
  for (const std::string& each : line.peers) {
    const std::size_t equals = std::min(each.rfind('='), each.size());
    const auto number = base::parse_number<std::uint32_t>(
        std::string_view(each).substr(std::min(equals + 1, each.size())));
    if (number) peers.emplace(each.substr(0, equals), *number);
  }
  return [folder, peers = std::move(peers),
          master = std::make_shared<control::Channel>(control::Channel::of_standard_input())](
             const changes::QueueOptions& queue, const changes::Job&, changes::Stage,
             changes::Stage to) {
    if (to != changes::Stage::kDone) return;
    const std::string name = name_in_pool(queue.repository, folder);
    const std::uint32_t number = repository::number_of(name);
    master->send({control::Verb::kEvents, number});
    master->send({control::Verb::kBackoffice, number});
    const auto [first, last] = peers.equal_range(name);
    for (auto peer = first; peer != last; ++peer) {
      master->send({control::Verb::kPeer, peer->second});
    }
  };
}

std::vector<changes::QueueOptions> queues_as(const changes::PoolOptions& options,
                                             const std::vector<app::ServedQueue>& served) {
  std::vector<changes::QueueOptions> queues;
  for (const app::ServedQueue& each : served) {
    changes::QueueOptions queue;
    queue.repository = each.repository;
    queue.base = each.base;
    queue.rules = options.rules;
    queue.children = options.children;
    queue.batch = changes::batch_of(options);
    queue.takes_lines = options.gate.program.empty();
    if (!options.gate.program.empty()) {
      queue.check_gate = [gate = gate_of(options, queue)] { return changes::check_gate(gate); };
    }
    queues.push_back(std::move(queue));
  }
  return queues;
}

using ListQueues = std::function<app::FoundQueues()>;

/// Serves the queues that LIST returns. If IS_DYNAMIC, calls LIST periodically.
quarry::Result<void> serve(const app::ChangesCommandLine& line, const changes::PoolOptions& options,
                           const ListQueues& list, bool is_dynamic) {
  changes::DaemonOptions daemon;
  daemon.scan_interval = options.scan;
  daemon.is_once = line.is_once;
  const fs::path folder = line.is_folder ? fs::absolute(line.path).lexically_normal() : fs::path();
  const auto queues_in = [&](const app::FoundQueues& found) {
    auto queues = queues_as(options, found.queues);
    for (changes::QueueOptions& queue : queues) {
      if (line.replica.empty()) break;
      queue.right = std::make_shared<app::QueueLease>(replicated(line, queue.repository, folder));
    }
    return queues;
  };
  daemon.report = [to_courier = report_to_courier(line, folder),
                   to_master = request_jobs(line, folder)](const auto&... move) {
    to_courier(move...);
    to_master(move...);
  };
  if (is_dynamic) {
    daemon.find_queues = [&] {
      const app::FoundQueues found = list();
      return changes::FoundQueues{queues_in(found), found.is_complete};
    };
  } else {
    daemon.queues = queues_in(list());
    if (daemon.queues.empty()) return {};
  }
  if (line.kind == "prequeue") {
    const auto readers = std::make_shared<changes::TarballReaders>();
    return changes::run_prequeue(daemon, [&](const changes::QueueOptions& queue) {
      return std::make_unique<app::TarballChecker>(limits_of(options), options.rights,
                                                   queue.repository, queue.base / "tmp", readers);
    });
  }
  if (line.kind == "queueing") return changes::run_queueing(daemon);
  return changes::run_execution(daemon, [&](const changes::QueueOptions& queue) {
    changes::ExecutorOptions executor;
    executor.repository = queue.repository;
    executor.temporary = queue.base / "tmp";
    executor.tarball = limits_of(options);
    executor.rights = options.rights;
    executor.gate = gate_of(options, queue);
    executor.landing.asks_gate_again = !options.gate.accepts_stale;
    if (!line.replica.empty()) {
      executor.landing.fence =
          std::make_shared<app::ReplicaFence>(replicated(line, queue.repository, folder));
    }
    return changes::make_executor(std::move(executor));
  });
}

int run(const app::ChangesCommandLine& line) {
  const auto options = options_of(line);
  if (!options) return failed(options.error());
  const fs::path path = fs::absolute(line.path).lexically_normal();
  const auto list = [&]() -> app::FoundQueues {
    if (line.is_folder) return app::queues_below(path, *options);
    const fs::path base =
        line.queue.empty() ? changes::queue_base(*options, path, "") : fs::path(line.queue);
    return {.queues = {{.repository = path, .base = base}}};
  };
  const auto done = serve(line, *options, list, line.is_folder && !line.is_once);
  return done ? 0 : failed(done.error());
}

/// Blocks the signals for which the daemons wait.
void block_signals() {
  sigset_t signals;
  ::sigemptyset(&signals);
  for (const int each : {SIGTERM, SIGINT, SIGQUIT}) ::sigaddset(&signals, each);
  ::sigprocmask(SIG_BLOCK, &signals, nullptr);
  // If a gate or courier has exited, writes to it must fail instead of killing this process.
  std::signal(SIGPIPE, SIG_IGN);
}

int run_command_line(int argc, char** argv) {
  const auto line = app::parse_changes_command_line(argc, argv);
  if (!line) return line.error();
  block_signals();
  return run(*line);
}

}  // namespace

int main(int argc, char** argv) {
  try {
    return run_command_line(argc, argv);
  } catch (const std::exception& error) {
    fmt::print(stderr, "quarry-changes: {}\n", error.what());
    return kFailed;
  }
}
