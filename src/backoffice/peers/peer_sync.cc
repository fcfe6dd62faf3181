#include "quarry/backoffice/peer_sync.h"

#include <algorithm>
#include <random>
#include <utility>

#include "quarry/base/duration.h"
#include "quarry/repository/receipt.h"

namespace quarry::backoffice {
namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;
using What = PeerReport::What;

// Maximum size in bytes of an error message, which can come from a server.
constexpr std::size_t kMaxError = 500;
constexpr std::chrono::seconds kMaxConnectTime{30};
// Interval between checks whether the running sync has ended.
constexpr milliseconds kWhileRunning{5'000};

double random_fraction() {
  thread_local std::minstd_rand generator{std::random_device{}()};
  return std::uniform_real_distribution<double>(0, 1)(generator);
}

/// Returns whether the messages are equal apart from digits, such as those in durations.
bool is_like(std::string one, std::string other) {
  const auto is_digit = [](char c) { return c >= '0' && c <= '9'; };
  std::erase_if(one, is_digit);
  std::erase_if(other, is_digit);
  return one == other;
}

/// Passes messages on. Does not supply passwords. Does not retry requests, because a failed sync is
/// repeated later.
class Watch final : public transport::PeerWatch {
 public:
  explicit Watch(const PeerSyncOptions& options) : options_(options) {}
  void message_received(const std::string& message) override {
    if (options_.on_message) options_.on_message(message);
  }
  bool wait(milliseconds, const Error&) override { return false; }

 private:
  const PeerSyncOptions& options_;
};

class PeerSync {
 public:
  PeerSync(repository::Repository& repository, const PeerSyncOptions& options)
      : repository_(repository),
        options_(options),
        peer_(options.peer),
        row_(peer_row(options.peer.name)),
        deadline_(steady_clock::now() + options.peer.max_time) {}

  Result<PeerReport> run() {
    QUARRY_TRY_ASSIGN(PeerReport report, check_due());
    if (report.what != What::kDone) return report;
    QUARRY_TRY_ASSIGN(report, begin());
    if (report.what != What::kDone) return report;
    auto synced = talk();
    if (!synced && has_to_end()) {
      // An interruption is not a failure, because the next process starts the sync again.
      return end([](PeerReport& ended) {
        ended.what = What::kInterrupted;
        ended.state.tried = 0;
      });
    }
    QUARRY_TRY_ASSIGN(report, end([&](PeerReport& ended) {
                        synced ? note_success(*synced, ended)
                               : note_failure(std::move(synced).error(), ended);
                      }));
    repository_.keep_log_short();
    return report;
  }

 private:
  std::int64_t now() const { return repository_.options().clock->now().value; }
  bool has_to_end() const { return options_.is_interrupted && options_.is_interrupted(); }
  bool is_too_late() const { return steady_clock::now() >= deadline_; }

  /// Reads the peer's row. If a sync is due, `what` in the report is kDone, although the sync has
  /// not run yet. Requires a Snapshot or a Receipt.
  Result<PeerReport> check_row() {
    PeerReport report;
    report.state = PeerState::parse(repository_.settings().get(row_).value_or(""));
    if (is_running(report.state, *options_.processes, {now()})) {
      report.what = What::kRunning;
      report.wait = kWhileRunning;
      return report;
    }
    report.state.runner.reset();
    // Discard the state if it is about another URL.
    const std::string url = url_ ? url_->without_password() : "";
    if (url_ && report.state.url != url) report.state = PeerState{.url = url};
    QUARRY_TRY_ASSIGN(mark_, mark_of(repository_, peer_.with_unversioned));
    report.wait = wait_for_peer(report.state, peer_, mark_, {now()});
    const bool is_due = options_.is_forced || report.wait.count() == 0;
    report.what = is_due ? What::kDone : What::kNotDue;
    return report;
  }

  Result<PeerReport> check_due() {
    url_ = options_.locate(repository_);
    QUARRY_TRY_ASSIGN(const auto snapshot, repository_.snapshot());
    return check_row();
  }

  /// Checks again with the write lock, so that only one of several processes starts the sync.
  Result<PeerReport> begin() {
    QUARRY_TRY_ASSIGN(auto receipt, repository_.receive());
    QUARRY_TRY_ASSIGN(PeerReport report, check_row());
    if (report.what != What::kDone) return report;
    report.state.tried = now();
    report.state.runner =
        PeerRunner{.host = options_.processes->host(),
                   .pid = options_.pid,
                   .started = options_.processes->started(options_.pid).value_or(0),
                   .since = now(),
                   .until = now() + peer_.max_time.count()};
    QUARRY_TRY(receipt.set_config(row_, report.state.text()));
    QUARRY_TRY(receipt.commit());
    return report;
  }

  Result<transport::Peer::Outcome> talk() {
    if (!url_) return std::unexpected(url_.error());
    transport::TransportOptions transport = options_.transport;
    transport.idle_timeout =
        std::max(std::chrono::ceil<std::chrono::seconds>(peer_.timeout), std::chrono::seconds(1));
    transport.connect_timeout = std::min(transport.idle_timeout, kMaxConnectTime);
    transport.is_interrupted = [this] { return has_to_end() || is_too_late(); };
    sync::ClientOptions sync;
    sync.pull = peer_.pulls();
    sync.push = peer_.pushes();
    sync.with_private = peer_.with_private;
    sync.with_unversioned = peer_.with_unversioned;
    sync.uid = options_.uid;
    Watch watch(options_);
    auto synced = transport::Peer(repository_,
                                  {.url = *url_,
                                   .transport = std::move(transport),
                                   .sync = std::move(sync),
                                   .retry = {},
                                   .connect = options_.connect},
                                  watch)
                      .sync();
    if (synced || !is_too_late()) return synced;
    return fail(ErrorCode::kLimit,
                "the sync took longer than {}; the next sync resumes where it stopped",
                base::in_words(peer_.max_time));
  }

  void note_success(const transport::Peer::Outcome& outcome, PeerReport& report) const {
    PeerState& state = report.state;
    const sync::ClientFigures& figures = outcome.figures;
    report.what = What::kDone;
    report.figures = figures;
    report.past_failures = std::exchange(state.failures, 0);
    state.succeeded = now();
    state.next = 0;
    state.error.clear();
    state.seen = mark_;
    state.sent += static_cast<std::int64_t>(figures.artifacts_sent);
    state.received += static_cast<std::int64_t>(figures.artifacts_received);
    if (figures.artifacts_sent + figures.artifacts_received > 0) state.exchanged = state.succeeded;
    const std::string moved_to = outcome.moved_to.value_or("");
    report.is_news = !moved_to.empty() && state.moved_to != moved_to;
    state.moved_to = moved_to;
    report.wait =
        std::max(milliseconds(state.tried + peer_.interval.count() - now()), milliseconds(0));
  }

  void note_failure(Error error, PeerReport& report) const {
    PeerState& state = report.state;
    if (error.message.size() > kMaxError) error.message.resize(kMaxError);
    report.what = What::kFailed;
    ++state.failures;
    report.is_news = is_failure_to_log(state.failures) || !is_like(state.error, error.message);
    state.failed = now();
    state.error = error.message;
    report.wait = wait_after_failure(state.failures, error, peer_, random_fraction());
    state.next = state.failed + report.wait.count();
    report.error = std::move(error);
  }

  /// Calls CHANGE with the report, and then records the end of the sync.
  Result<PeerReport> end(const auto& change) {
    QUARRY_TRY_ASSIGN(auto receipt, repository_.receive());
    PeerReport report;
    report.state = PeerState::parse(repository_.settings().get(row_).value_or(""));
    report.state.runner.reset();
    change(report);
    QUARRY_TRY(receipt.set_config(row_, report.state.text()));
    QUARRY_TRY(receipt.commit());
    return report;
  }

  repository::Repository& repository_;
  const PeerSyncOptions& options_;
  const PeerOptions& peer_;
  const std::string row_;
  const steady_clock::time_point deadline_;
  Result<transport::RemoteUrl> url_ = transport::RemoteUrl();
  std::string mark_;
};

}  // namespace

Result<PeerReport> sync_with_peer(repository::Repository& repository,
                                  const PeerSyncOptions& options) {
  return PeerSync(repository, options).run();
}

}  // namespace quarry::backoffice
