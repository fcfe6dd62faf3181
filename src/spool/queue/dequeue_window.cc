#include "quarry/spool/dequeue_window.h"

namespace quarry::spool {

std::tm local_time() {
  const std::time_t now = std::time(nullptr);
  std::tm local{};
  ::localtime_r(&now, &local);
  return local;
}

std::chrono::seconds until_window(const QueueOptions& options, const std::tm& local) {
  using std::chrono::hours;
  using std::chrono::minutes;
  using std::chrono::seconds;
  const int begin = options.dequeue_time_begin;
  const int end = options.dequeue_time_end;
  if (end == kNoDequeueTimeEnd) return seconds(0);
  const int hour = local.tm_hour;
  const bool is_open = begin < end ? hour >= begin && hour < end : hour >= begin || hour < end;
  if (is_open) return seconds(0);
  const int left = hour < begin ? begin - hour : begin - hour + 24;
  return hours(left) - minutes(local.tm_min) - seconds(local.tm_sec < 60 ? local.tm_sec : 59);
}

}  // namespace quarry::spool
