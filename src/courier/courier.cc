#include "quarry/courier/courier.h"

#include <curl/curl.h>

#include <algorithm>
#include <csignal>
#include <memory>
#include <ranges>
#include <thread>

#include "destination.h"
#include "quarry/base/log.h"
#include "quarry/base/service_manager.h"
#include "quarry/spool/hand_over.h"
#include "quarry/spool/stream.h"

namespace quarry::courier {
namespace {

using base::LogLevel;
using Clock = std::chrono::steady_clock;

sigset_t awaited_signals() {
  sigset_t signals;
  ::sigemptyset(&signals);
  for (const int number : {SIGTERM, SIGINT, SIGUSR1}) ::sigaddset(&signals, number);
  return signals;
}

void report(const std::string& line) {
  base::log(LogLevel::kWarning, "{}", line);
}

class Courier {
 public:
  explicit Courier(const CourierConfig& config) : config_(config) {}

  Result<void> open() {
    const CourierOptions& options = config_.options;
    QUARRY_TRY_ASSIGN(stream_,
                      spool::Stream::open({.location = {options.spool_directory, kStreamName},
                                           .max_disk_space = options.max_disk_space},
                                          report));
    for (const DestinationOptions& each : config_.destinations) QUARRY_TRY(add(each));
    retire_unconfigured();
    remove_deliveries_except(options.spool_directory, names_);
    return {};
  }

  Result<void> serve(base::Fd listener) {
    for (const auto& each : destinations_) each->start();
    QUARRY_TRY_ASSIGN(server_, spool::HandOverServer::start(*stream_, std::move(listener), report));
    return {};
  }

  void reopen() {
    for (const auto& each : destinations_) each->reopen();
  }

  /// Waits for in-flight deliveries. The next courier cannot start before slow deliveries have
  /// ended. Until then, this courier accepts events, and the other destinations continue.
  void end() {
    const auto begin = Clock::now();
    const auto is_slow = [begin](const auto& each) {
      return each->ends_slowly() ? !each->has_ended() : each->is_delivering_since_before(begin);
    };
    for (const auto& each : destinations_) {
      if (each->ends_slowly()) each->stop();
    }
    wait_while(is_slow, begin + kEndingTime);
    for (const auto& each : destinations_ | std::views::filter(is_slow)) {
      each->stop();
      each->interrupt();
    }
    wait_while(is_slow, Clock::time_point::max());
    server_.reset();
    for (const auto& each : destinations_) each->stop();
    wait_while([](const auto& each) { return !each->has_ended(); }, Clock::now() + kEndingTime);
    for (const auto& each : destinations_) each->interrupt();
    destinations_.clear();
    stream_.reset();
  }

 private:
  /// Waits while IS_BUSY returns true for any destination, at most until END.
  void wait_while(const auto& is_busy, Clock::time_point end) const {
    while (std::ranges::any_of(destinations_, is_busy) && Clock::now() < end) {
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    }
  }

  Result<void> add(const DestinationOptions& options) {
    QUARRY_TRY_ASSIGN(auto subscription,
                      stream_->subscribe(options.name, subscription_options(options)));
    destinations_.push_back(
        std::make_unique<Destination>(config_.options, options, std::move(subscription)));
    names_.push_back(options.name);
    return {};
  }

  /// Stops collecting events for destinations that the configuration does not contain. Keeps the waiting
  /// events of these destinations, because the removal might be a mistake.
  void retire_unconfigured() {
    for (const auto& each : stream_->statistics()) {
      if (std::ranges::find(names_, each.name) != names_.end()) continue;
      if (const auto retired = stream_->retire(each.name); !retired) {
        base::log(LogLevel::kError, "cannot remove destination {}: {}", each.name,
                  retired.error().message);
        continue;
      }
      std::string kept;
      if (each.waiting + each.dead > 0) {
        kept = fmt::format(
            "; its waiting events and {} dead letters are kept until `quarry courier forget {}`",
            each.dead, each.name);
      }
      base::log(
          LogLevel::kWarning,
          "destination {} is no longer in the configuration and does not get further events{}",
          each.name, kept);
    }
  }

  const CourierConfig& config_;
  std::unique_ptr<spool::Stream> stream_;
  std::vector<std::unique_ptr<Destination>> destinations_;
  std::vector<std::string> names_;
  std::unique_ptr<spool::HandOverServer> server_;
};

}  // namespace

void hold_signals() {
  const sigset_t signals = awaited_signals();
  ::pthread_sigmask(SIG_BLOCK, &signals, nullptr);
  // Restore the default actions, because an ignored signal never arrives, even if it is blocked.
  // SIGINT is not changed, because the shell ignores it for background jobs.
  ::signal(SIGTERM, SIG_DFL);
  ::signal(SIGUSR1, SIG_DFL);
  ::signal(SIGPIPE, SIG_IGN);
}

Result<void> run(const CourierConfig& config, base::Fd listener,
                 const std::function<void()>& reopen) {
  curl_global_init(CURL_GLOBAL_DEFAULT);
  Courier courier(config);
  QUARRY_TRY(courier.open());
  QUARRY_TRY(courier.serve(std::move(listener)));
  const std::size_t count = config.destinations.size();
  base::log(LogLevel::kNotice, "ready: {} destination{}, listening on {}", count,
            count == 1 ? "" : "s", config.options.socket);
  base::notify_service_manager("READY=1");
  const sigset_t signals = awaited_signals();
  for (;;) {
    int number = 0;
    if (::sigwait(&signals, &number) != 0) continue;
    if (number != SIGUSR1) break;
    reopen();
    courier.reopen();
  }
  base::log(LogLevel::kNotice, "stopping");
  courier.end();
  return {};
}

}  // namespace quarry::courier
