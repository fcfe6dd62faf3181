#include "quarry/spool/options.h"

#include <fmt/core.h>

#include <algorithm>

#include "quarry/spool/message.h"
#include "segments/segment_format.h"

namespace quarry::spool {
namespace {

Result<void> check_dequeue_time(const QueueOptions& o) {
  constexpr int kHours = 24;
  const int begin = o.dequeue_time_begin;
  const int end = o.dequeue_time_end;
  if (begin < 0 || begin >= kHours || end < 0 || end > kNoDequeueTimeEnd) {
    return fail(ErrorCode::kInvalid,
                "queue.dequeuetimebegin ({}) and queue.dequeuetimeend ({}) must be "
                "hours: 0 to 23, and 0 to 25",
                begin, end);
  }
  if (begin != end) return {};
  return fail(ErrorCode::kInvalid,
              "queue.dequeuetimebegin and queue.dequeuetimeend must not be the same "
              "hour ({}): nothing would ever be delivered",
              begin);
}

/// Rejects values that set_parameter() would also reject, because callers can set options without
/// set_parameter().
Result<void> check_ranges(const QueueOptions& o) {
  struct Minimum {
    std::string_view name;
    std::uint64_t value;
    std::uint64_t min = 1;
  };
  for (const auto& [name, value, min] :
       {Minimum{"size", o.size}, Minimum{"workerthreads", o.worker_threads},
        Minimum{"dequeuebatchsize", o.dequeue_batch_size},
        Minimum{"maxfilesize", o.max_file_size, kMinFileSize},
        Minimum{"highwatermark", o.high_watermark.value_or(1)},
        Minimum{"fulldelaymark", o.full_delay_mark.value_or(1)},
        Minimum{"lightdelaymark", o.light_delay_mark.value_or(1)},
        Minimum{"discardmark", o.discard_mark.value_or(1)},
        Minimum{"workerthreadminimummessages", o.worker_thread_minimum_messages.value_or(1)}}) {
    if (value >= min) continue;
    return fail(ErrorCode::kInvalid, "queue.{} ({}) must be at least {}", name, value, min);
  }
  if (o.discard_severity > 8) {
    return fail(ErrorCode::kInvalid, "queue.discardseverity ({}) must be 0 to 8",
                o.discard_severity);
  }
  return check_dequeue_time(o);
}

}  // namespace

std::size_t max_content(const QueueOptions& options) {
  constexpr std::size_t kFraming = kSegmentHeader + kRecordHeader;
  const std::uint64_t room = options.max_disk_space;
  if (options.filename.empty() || room == 0) return kMaxContent;
  return room < kFraming
             ? 0
             : static_cast<std::size_t>(std::min<std::uint64_t>(kMaxContent, room - kFraming));
}

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

Result<QueueOptions> complete(QueueOptions o) {
  QUARRY_TRY(check_ranges(o));
  const auto part = [&o](std::size_t percent) {
    return std::max<std::size_t>(o.size * percent / 100, 1);
  };
  if (!o.high_watermark) o.high_watermark = part(kHighWatermarkPercent);
  if (!o.low_watermark)
    o.low_watermark = std::min(o.size * kLowWatermarkPercent / 100, *o.high_watermark - 1);
  if (!o.full_delay_mark)
    o.full_delay_mark = std::max(part(kFullDelayMarkPercent), *o.high_watermark);
  if (!o.light_delay_mark) o.light_delay_mark = part(kLightDelayMarkPercent);
  if (!o.discard_mark) o.discard_mark = part(kDiscardMarkPercent);
  if (!o.worker_thread_minimum_messages) {
    o.worker_thread_minimum_messages = std::max<std::size_t>(o.size / o.worker_threads, 1);
  }
  // Clamp the minimum batch size to the maximum batch size, and to the mark at which producers
  // wait. Otherwise, workers could wait in vain for more messages.
  o.min_dequeue_batch_size =
      std::min({o.min_dequeue_batch_size, o.dequeue_batch_size, *o.full_delay_mark});
  if (*o.low_watermark >= *o.high_watermark) {
    return fail(ErrorCode::kInvalid,
                "queue.lowwatermark ({}) must be below queue.highwatermark ({})", *o.low_watermark,
                *o.high_watermark);
  }
  struct Maximum {
    std::string_view name;
    std::uint64_t value;
    std::string_view limit;
    std::uint64_t max;
    bool applies = true;
  };
  for (const auto& [name, value, limit, max, applies] :
       {Maximum{"highwatermark", *o.high_watermark, "size", o.size},
        Maximum{"fulldelaymark", *o.full_delay_mark, "size", o.size},
        // If fulldelaymark were below highwatermark, producers would wait at fulldelaymark, and the
        // queue would never reach highwatermark.
        Maximum{"highwatermark", *o.high_watermark, "fulldelaymark", *o.full_delay_mark,
                o.is_disk_assisted()},
        Maximum{"lightdelaymark", *o.light_delay_mark, "size", o.size},
        Maximum{"discardmark", *o.discard_mark, "size", o.size},
        Maximum{"maxfilesize", o.max_file_size, "maxdiskspace", o.max_disk_space,
                o.max_disk_space != 0}}) {
    if (!applies || value <= max) continue;
    return fail(ErrorCode::kInvalid, "queue.{} ({}) must not be above queue.{} ({})", name, value,
                limit, max);
  }
  if (o.type == QueueType::kDisk && o.filename.empty()) {
    return fail(ErrorCode::kInvalid, "a disk queue needs queue.filename");
  }
  if (!o.filename.empty() && o.spool_directory.empty()) {
    return fail(ErrorCode::kInvalid, "queue.filename needs queue.spooldirectory");
  }
  if (o.filename.find('/') != std::string::npos) {
    return fail(ErrorCode::kInvalid, "queue.filename must be a name without a directory");
  }
  return o;
}

}  // namespace quarry::spool
