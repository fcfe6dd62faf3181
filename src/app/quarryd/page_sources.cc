#include "page_sources.h"

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <map>
#include <utility>
#include <vector>

#include "configuration.h"
#include "courier_configuration.h"
#include "hooks_service.h"
#include "quarry/base/escape.h"
#include "quarry/base/file_system.h"
#include "quarry/base/time.h"
#include "quarry/changes/queue_view.h"
#include "quarry/courier/waiting_events.h"
#include "quarry/repository/repository_folder.h"
#include "quarry/spool/stream.h"

namespace quarry::app {
namespace {

using std::chrono::steady_clock;

// Limits on counting queues.
constexpr std::size_t kMaxRepositories = 1000;
constexpr std::chrono::milliseconds kMaxReadTime{200};
// Minimum interval between two reads of the files. After a slow read, the interval is
// kIntervalFactor times the duration of the read.
constexpr std::chrono::milliseconds kMinInterval{3000};
constexpr int kIntervalFactor = 20;
// The filters of a destination are applied to at most this number of waiting events.
constexpr std::uint64_t kMaxFiltered = 2'000;
constexpr auto kQueuesUnreadable = "This pool's user is not allowed to read the queues' files.";
constexpr auto kCourierUnreadable = "This pool's user is not allowed to read the courier's files.";

/// Returns a function that calls READ, a slow function, at most once per interval. Within an
/// interval, the function returns the last result.
template <typename View>
std::function<View()> cached(std::function<View()> read) {
  struct Last {
    std::optional<View> view;
    steady_clock::time_point again;
  };
  return [read = std::move(read), last = std::make_shared<Last>()] {
    const auto begin = steady_clock::now();
    if (last->view && begin < last->again) return *last->view;
    last->view = read();
    const auto end = steady_clock::now();
    last->again =
        end + std::max<steady_clock::duration>(kMinInterval, kIntervalFactor * (end - begin));
    return *last->view;
  };
}

struct PoolWithQueues {
  master::PoolConfig pool;
  changes::PoolOptions options;

  /// Returns POOL with its queues, or nullopt if POOL does not have queues.
  static std::optional<PoolWithQueues> of(const master::PoolConfig& pool) {
    const auto options = worker_options_in(pool);
    if (!options.changes.is_enabled || !pool.process.chroot.empty()) return std::nullopt;
    return PoolWithQueues{pool, options.changes};
  }
};

struct Served {
  std::filesystem::path file;
  std::string name;
};

std::vector<Served> served_by(const master::PoolConfig& pool) {
  if (!pool.repository.empty()) return {{pool.repository, ""}};
  std::vector<Served> served;
  for (const auto& name : repository::names_below(pool.repositories, kMaxRepositories).names) {
    if (auto found = repository::locate(pool.repositories, name)) {
      served.push_back({std::move(found->path), name.str()});
    }
  }
  return served;
}

pages::QueuesView read_queues(const PoolWithQueues& of, steady_clock::time_point deadline) {
  changes::ViewOptions counts_alone;
  counts_alone.max_waiting = counts_alone.max_over = 0;
  std::array<std::uint64_t, changes::kStages> counts{};
  pages::QueuesView view;
  const auto served = served_by(of.pool);
  view.is_cut = served.size() == kMaxRepositories;
  for (const Served& each : served) {
    const auto base = changes::queue_base(of.options, each.file, each.name);
    std::error_code error;
    if (!std::filesystem::is_directory(base, error)) {
      if (error == std::errc::permission_denied) view.problem = kQueuesUnreadable;
      continue;
    }
    if (steady_clock::now() >= deadline) {
      view.is_cut = true;
      break;
    }
    const changes::Directories directories(base::FileSystem::real(), base);
    const auto queue = changes::view_queue(directories, counts_alone);
    if (!queue) {
      if (queue.error().code == ErrorCode::kDenied) view.problem = kQueuesUnreadable;
      continue;
    }
    ++view.queues;
    for (std::size_t i = 0; i < counts.size(); ++i) counts[i] += queue->counts[i];
  }
  for (std::size_t i = 0; i < counts.size(); ++i) {
    if (counts[i] == 0) continue;
    view.states.emplace_back(changes::word_of(static_cast<changes::Stage>(i)), counts[i]);
  }
  return view;
}

/// Reads the queues of several pools. If a call reaches the time limit, the next call continues
/// with the remaining queues.
class RoundRobinQueues {
 public:
  explicit RoundRobinQueues(std::vector<PoolWithQueues> pools) : pools_(std::move(pools)) {
    for (const PoolWithQueues& each : pools_) {
      views_.push_back({each.pool.name, {.problem = "Not read yet."}});
    }
  }

  std::vector<pages::PoolQueues> read() {
    const auto deadline = steady_clock::now() + kMaxReadTime;
    for (std::size_t i = 0; i < pools_.size() && steady_clock::now() < deadline; ++i) {
      views_[next_].view = read_queues(pools_[next_], deadline);
      next_ = (next_ + 1) % pools_.size();
    }
    return views_;
  }

 private:
  std::vector<PoolWithQueues> pools_;
  std::vector<pages::PoolQueues> views_;
  std::size_t next_ = 0;
};

std::optional<std::int64_t> age_of(const std::optional<base::UnixMillis>& time) {
  if (!time) return std::nullopt;
  return std::max<std::int64_t>(0, base::system_clock().now().value - time->value);
}

void add_destinations(const spool::StreamStatus& status, const std::string& suffix,
                      pages::CourierView& view) {
  for (const spool::SubscriptionStatistics& each : status.subscriptions) {
    view.destinations.push_back({.name = each.name + suffix,
                                 .waiting = each.waiting,
                                 .delivered = each.delivered,
                                 .dead = each.dead,
                                 .oldest = age_of(each.oldest),
                                 .last_error = own_words(each.last_error),
                                 .last_error_age = age_of(each.last_error_at)});
  }
}

/// Reads the courier's files. HOOKS maps the names of pools to the folders of their waiting hooks;
/// folders that this pool's user cannot read are left out.
pages::CourierView read_courier(const courier::CourierConfig& config,
                                const std::map<std::string, std::filesystem::path>& hooks) {
  auto status = courier::status_of(config, kMaxFiltered, [](const std::string&) {});
  pages::CourierView view;
  if (!status) {
    view.problem = status.error().code == ErrorCode::kDenied
                       ? kCourierUnreadable
                       : "The courier's files cannot be read; see `quarry courier status`.";
    return view;
  }
  view.is_running = status->is_held;
  // The number of events for a removed destination is unknown, because its filters are unknown.
  std::erase_if(status->subscriptions, [&config](const spool::SubscriptionStatistics& each) {
    return std::ranges::find(config.destinations, each.name, &courier::DestinationOptions::name) ==
           config.destinations.end();
  });
  add_destinations(*status, "", view);
  for (const auto& [pool, place] : hooks) {
    const auto waiting = courier::status_of_pool(place);
    if (waiting) add_destinations(*waiting, " " + pool, view);
  }
  return view;
}

}  // namespace

std::string own_words(std::string_view text) {
  text = text.substr(0, text.find('\n'));
  // Format: "https://chat.example: HTTP status 500: the server's response".
  constexpr std::string_view kBetween = ": ";
  const std::size_t first = text.find(kBetween);
  if (first == std::string_view::npos) return base::printable(text);
  return base::printable(text.substr(0, text.find(kBetween, first + kBetween.size())));
}

pages::ServerSources server_sources(const master::Config& config, const LogDestinations& logs) {
  pages::ServerSources sources;
  std::vector<PoolWithQueues> all;
  for (const master::PoolConfig& each : config.pools) {
    if (auto with_queues = PoolWithQueues::of(each)) all.push_back(*std::move(with_queues));
  }
  sources.all_queues = cached<std::vector<pages::PoolQueues>>(
      [queues = std::make_shared<RoundRobinQueues>(std::move(all))] { return queues->read(); });
  if (const auto courier = courier_config_in(config)) {
    std::map<std::string, std::filesystem::path> folders;
    for (const master::PoolConfig& each : config.pools) {
      if (const auto hooks = pool_hooks(config, each); hooks && *hooks) {
        folders[each.name] = (*hooks)->folder;
      }
    }
    sources.courier =
        cached<pages::CourierView>([config = *courier, folders = std::move(folders), logs] {
          auto view = read_courier(config, folders);
          std::ranges::move(views_of(logs), std::back_inserter(view.destinations));
          return view;
        });
  }
  return sources;
}

pages::ServerSources page_sources(const master::Config& config, const master::PoolConfig& pool,
                                  std::shared_ptr<scoreboard::Overview> overview,
                                  scoreboard::RefusalTallies refusals,
                                  const LogDestinations& logs) {
  pages::ServerSources sources;
  if (pool.status_path.empty()) return sources;
  sources.refusals = std::move(refusals);
  if (const auto own = PoolWithQueues::of(pool)) {
    sources.queues = cached<pages::QueuesView>(
        [own = *own] { return read_queues(own, steady_clock::now() + kMaxReadTime); });
  }
  if (!pool.status_all || overview == nullptr) return sources;
  sources.pools = [overview = std::move(overview)] { return overview->read(); };
  // If POOL has a chroot, leave out the courier and the queues of other pools. Their files are
  // outside the chroot.
  if (!pool.process.chroot.empty()) return sources;
  auto of_server = server_sources(config, logs);
  sources.all_queues = std::move(of_server.all_queues);
  sources.courier = std::move(of_server.courier);
  return sources;
}

}  // namespace quarry::app
