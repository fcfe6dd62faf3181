#include "access_recorder.h"

#include <unistd.h>

#include <algorithm>
#include <ctime>

#include "quarry/http/parameters.h"

namespace quarry::worker {
namespace {

std::int64_t micros(const timeval& time) {
  return std::int64_t{time.tv_sec} * 1000000 + time.tv_usec;
}

std::int64_t wall_micros() {
  timespec now{};
  ::clock_gettime(CLOCK_REALTIME, &now);
  return std::int64_t{now.tv_sec} * 1000000 + now.tv_nsec / 1000;
}

}  // namespace

AccessRecorder::AccessRecorder(base::AccessLog* log, std::string_view pool)
    : log_(log), pool_(pool), parent_(::getppid()) {}

void AccessRecorder::begin() {
  if (log_ != nullptr && log_->format().wants_usage()) ::getrusage(RUSAGE_SELF, &before_);
}

void AccessRecorder::add_usage(base::AccessRecord& record) const {
  rusage after{};
  ::getrusage(RUSAGE_SELF, &after);
  record.cpu_user = micros(after.ru_utime) - micros(before_.ru_utime);
  record.cpu_system = micros(after.ru_stime) - micros(before_.ru_stime);
  record.memory_peak = static_cast<std::uint64_t>(after.ru_maxrss) << 10;
}

void AccessRecorder::end(const Request& request, const Reply& reply,
                         const scoreboard::SlotState& state) {
  if (log_ == nullptr) return;
  const std::string_view uri = request.uri.empty() ? request.path() : request.uri;
  const std::size_t question = std::min(uri.find('?'), uri.size());
  base::AccessRecord record;
  record.pool = pool_;
  record.pid = static_cast<pid_t>(state.pid);
  record.parent = parent_;
  record.written = wall_micros();
  record.received = record.written - (scoreboard::monotonic_micros() - state.request_started);
  record.duration = state.request_duration;
  record.remote_address = request.remote_address;
  record.user = reply.user;
  record.method = request.method;
  record.path = uri.substr(0, question);
  record.query = uri.substr(std::min(question + 1, uri.size()));
  if (record.query.empty()) record.query = request.variable(http::parameter::kQueryString);
  record.content_length = state.content_length;
  record.status = reply.status;
  record.reply_size = reply.body.size();
  record.repository = reply.repository;
  record.operation = reply.operation;
  record.variables = request.variables;
  if (log_->format().wants_usage()) add_usage(record);
  std::string header;
  if (log_->format().wants_reply_header()) record.reply_header = header = header_of(reply);
  log_->write(record);
}

}  // namespace quarry::worker
