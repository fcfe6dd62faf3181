#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>

#include "quarry/scoreboard/scoreboard.h"
#include "shared_state.h"

namespace quarry::scoreboard {
namespace {

struct Usage {
  std::uint64_t cpu = 0;          // microseconds, user and system
  std::uint64_t peak_memory = 0;  // bytes
};

Usage own_usage() {
  rusage usage{};
  ::getrusage(RUSAGE_SELF, &usage);
  const auto micros = [](const timeval& time) {
    return static_cast<std::uint64_t>(time.tv_sec) * 1000000 +
           static_cast<std::uint64_t>(time.tv_usec);
  };
  return {micros(usage.ru_utime) + micros(usage.ru_stime),
          static_cast<std::uint64_t>(usage.ru_maxrss) * 1024};
}

}  // namespace

void Slot::publish() {
  write_state(*memory_, state_);
}

void Slot::enter(Stage stage) {
  state_.stage = stage;
  state_.stage_since = monotonic_micros();
}

void Slot::child_started() {
  state_ = SlotState{};
  state_.pid = static_cast<std::uint32_t>(::getpid());
  state_.generation = generation_;
  state_.child_started = wall_micros();
  publish();
}

void Slot::accepting() {
  enter(Stage::kAccepting);
  publish();
}

void Slot::accepted() {
  enter(Stage::kAccepted);
  state_.request_started = state_.stage_since;
  state_.content_length = 0;
  state_.received = 0;
  state_.reply_size = 0;
  state_.method.assign("");
  state_.request_id.assign("");
  state_.uri.assign("");
  state_.query.assign("");
  state_.user.assign("");
  state_.operation.assign("");
  state_.repository.assign("");
  state_.doing.assign("");
  state_.sql.assign("");
  state_.sql_seen = 0;
  state_.client.assign("");
  state_.session_began = 0;
  ++state_.counters.accepted;
  counted_at_end_ = Counters{};
  cpu_before_ = own_usage().cpu;
  publish();
}

void Slot::reading_headers() {
  enter(Stage::kReadingHeaders);
  publish();
}

void Slot::info(const RequestInfo& request) {
  enter(Stage::kInfo);
  const std::size_t mark = std::min(request.uri.find('?'), request.uri.size());
  state_.method.assign(request.method);
  state_.uri.assign(request.uri.substr(0, mark));
  state_.query.assign(request.uri.substr(std::min(mark + 1, request.uri.size())));
  state_.content_length = request.content_length;
  state_.request_id.assign(request.id);
  publish();
}

void Slot::executing(std::string_view repository) {
  enter(Stage::kExecuting);
  state_.repository.assign(repository);
  publish();
}

void Slot::received(std::uint64_t size) {
  state_.received = size;
  publish();
}

void Slot::doing(std::string_view user, std::string_view operation, std::string_view what) {
  state_.user.assign(user);
  state_.operation.assign(operation);
  state_.doing.assign(what);
  publish();
}

void Slot::session_begins(std::string_view client) {
  state_.client.assign(client);
  state_.session_began = monotonic_micros();
  publish();
}

void Slot::running_sql(std::string_view sql) {
  state_.sql.assign(sql);
  state_.sql_seen = monotonic_micros();
  publish();
}

void Slot::refused(Refusal refusal) {
  if (refusals_ == nullptr) return;
  refusal.at = wall_micros();
  const std::uint64_t number = refusals_->count.fetch_add(1, std::memory_order_relaxed);
  write_state(refusals_->ring[number % kMaxRefusals], refusal);
}

void Slot::end(const Outcome& outcome) {
  enter(Stage::kEnd);
  state_.user.assign(outcome.user);
  state_.operation.assign(outcome.operation);
  state_.reply_size = outcome.reply_size;
  Counters& counted = counted_at_end_;
  counted.reply_bytes = outcome.reply_size;
  counted.status_requests = outcome.operation == "status" ? 1 : 0;
  counted.refusals = outcome.is_refusal ? 1 : 0;
  counted.failed_logins = outcome.is_failed_login ? 1 : 0;
  counted.clones = outcome.operation == "clone" ? 1 : 0;
  counted.pulls = outcome.operation == "pull" ? 1 : 0;
  counted.pushes = outcome.operation == "push" ? 1 : 0;
  counted.syncs = outcome.operation == "sync" ? 1 : 0;
  counted.artifacts_in = outcome.artifacts_in;
  counted.artifacts_out = outcome.artifacts_out;
  counted.bytes_in = outcome.bytes_in;
  counted.bytes_out = outcome.bytes_out;
  publish();
}

void Slot::finished() {
  enter(Stage::kFinished);
  state_.client.assign("");
  state_.session_began = 0;
  state_.request_duration = std::max<std::int64_t>(0, state_.stage_since - state_.request_started);
  const Usage usage = own_usage();
  state_.request_cpu = usage.cpu - std::min(usage.cpu, cpu_before_);
  state_.peak_memory = usage.peak_memory;
  ++state_.requests;
  counted_at_end_.requests = 1;
  counted_at_end_.duration = static_cast<std::uint64_t>(state_.request_duration);
  ++counted_at_end_.durations[bucket_of(kDurationBounds, counted_at_end_.duration)];
  if (counted_at_end_.sync_sessions() > 0) {
    counted_at_end_.sync_duration = counted_at_end_.duration;
    counted_at_end_.sync_durations = counted_at_end_.durations;
  }
  ++counted_at_end_.reply_sizes[bucket_of(kReplySizeBounds, state_.reply_size)];
  state_.counters.add(counted_at_end_);
  if (busiest_ != nullptr && !state_.repository.view().empty()) {
    count_request(*busiest_, state_.repository.view(), counted_at_end_.duration);
  }
  counted_at_end_ = Counters{};
  publish();
}

}  // namespace quarry::scoreboard
