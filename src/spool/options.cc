#include "quarry/spool/options.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <charconv>

#include "quarry/spool/message.h"
#include "segment.h"

namespace quarry::spool {
namespace {

using base::ErrorCode;
using base::fail;
using base::Result;

constexpr std::array kParameters = {
    Parameter{"type", "memory|disk|direct", "where messages wait"},
    Parameter{"size", "MESSAGES", "how many there may be (10000)"},
    Parameter{"highwatermark", "MESSAGES", "from so many in memory on, they go to the disk (90 %)"},
    Parameter{"lowwatermark", "MESSAGES", "until so few are left in memory (70 %)"},
    Parameter{"fulldelaymark", "MESSAGES", "from so many on, who can wait does (97 %)"},
    Parameter{"lightdelaymark", "MESSAGES",
              "from so many on, who can wait does, for a second (70 %)"},
    Parameter{"discardmark", "MESSAGES", "from so many on, what matters least is discarded (80 %)"},
    Parameter{"discardseverity", "0-8", "what matters so little, or less (8: nothing)"},
    Parameter{"maxfilesize", "BYTES", "of one file; k, m, g (1m)"},
    Parameter{"maxdiskspace", "BYTES", "of all files; k, m, g (0: no limit)"},
    Parameter{"checkpointinterval", "MESSAGES", "write down how far reading is after so many (0)"},
    Parameter{"syncqueuefiles", "on|off", "survive that the machine stops (off)"},
    Parameter{"saveonshutdown", "on|off", "put on the disk what is left at the end (off)"},
    Parameter{"workerthreads", "NUMBER", "consumers at a time (1)"},
    Parameter{"workerthreadminimummessages", "MESSAGES",
              "for one more of them (size/workerthreads)"},
    Parameter{"dequeuebatchsize", "MESSAGES", "that a consumer gets at once, at most (128)"},
    Parameter{"dequeueslowdown", "MICROSECONDS", "from one batch to the next (0)"},
    Parameter{"timeoutenqueue", "MS", "how long to wait for a full queue (2000)"},
    Parameter{"timeoutshutdown", "MS", "how long workers may go on at the end (1500)"},
    Parameter{"timeoutactioncompletion", "MS", "how much longer with what they have (1000)"},
    Parameter{"timeoutworkerthreadshutdown", "MS", "idle workers end after it; -1: never (60000)"},
};

std::unexpected<base::Error> wrong(std::string_view name, std::string_view text,
                                   std::string_view wanted) {
  return fail(ErrorCode::kInvalid, fmt::format("queue.{} = {}: must be {}", name, text, wanted));
}

std::optional<std::int64_t> integer(std::string_view text) {
  std::int64_t value = 0;
  const char* const end = text.data() + text.size();
  const auto read = std::from_chars(text.data(), end, value);
  if (text.empty() || read.ec != std::errc{} || read.ptr != end) return std::nullopt;
  return value;
}

// Beyond it nobody has memory, and sums of two cannot overflow.
constexpr std::int64_t kMostMessages = 1'000'000'000;
constexpr std::uint64_t kLeastFileSize = 1024;
constexpr std::int64_t kMostMilliseconds = 1'000'000'000'000;

/// Puts TEXT into TARGET, a count from LEAST to MOST.
template <typename Target>
Result<void> set_count(std::string_view name, std::string_view text, Target& target,
                       std::int64_t least, std::int64_t most) {
  const auto value = integer(text);
  if (!value || *value < least || *value > most) {
    return wrong(name, text, fmt::format("a number from {} to {}", least, most));
  }
  target = static_cast<std::size_t>(*value);
  return {};
}

Result<void> set_bytes(std::string_view name, std::string_view text, std::uint64_t& target,
                       std::uint64_t least) {
  std::string_view digits = text;
  int shift = 0;
  if (!text.empty()) {
    const std::size_t unit = std::string_view("kmg").find(static_cast<char>(text.back() | 0x20));
    if (unit != std::string_view::npos) {
      shift = 10 * (static_cast<int>(unit) + 1);
      digits.remove_suffix(1);
    }
  }
  const auto value = integer(digits);
  if (!value || *value < 0 || *value > (std::int64_t{1} << 50) >> shift ||
      static_cast<std::uint64_t>(*value) << shift < least) {
    return wrong(name, text, fmt::format("bytes, at least {}, with k, m or g for more", least));
  }
  target = static_cast<std::uint64_t>(*value) << shift;
  return {};
}

Result<void> set_switch(std::string_view name, std::string_view text, bool& target) {
  if (text != "on" && text != "off") return wrong(name, text, "on or off");
  target = text == "on";
  return {};
}

Result<void> set_time(std::string_view name, std::string_view text, milliseconds& target,
                      std::int64_t least) {
  const auto value = integer(text);
  if (!value || *value < least || *value > kMostMilliseconds) {
    return wrong(name, text, fmt::format("milliseconds, at least {}", least));
  }
  target = *value < 0 ? kEternal : milliseconds(*value);
  return {};
}

Result<void> set_type(std::string_view text, QueueType& target) {
  if (text == "direct") {
    target = QueueType::kDirect;
  } else if (text == "memory" || text == "linkedlist" || text == "fixedarray") {
    target = QueueType::kMemory;
  } else if (text == "disk") {
    target = QueueType::kDisk;
  } else {
    return wrong("type", text, "memory (also linkedlist or fixedarray), disk or direct");
  }
  return {};
}

}  // namespace

namespace {

/// What no text could have set.
Result<void> check_ranges(const QueueOptions& o) {
  const auto at_least = [](std::string_view name, std::uint64_t value,
                           std::uint64_t least) -> Result<void> {
    if (value >= least) return {};
    return fail(ErrorCode::kInvalid,
                fmt::format("queue.{} ({}) must be at least {}", name, value, least));
  };
  QUARRY_TRY(at_least("size", o.size, 1));
  QUARRY_TRY(at_least("workerthreads", o.worker_threads, 1));
  QUARRY_TRY(at_least("dequeuebatchsize", o.dequeue_batch_size, 1));
  QUARRY_TRY(at_least("maxfilesize", o.max_file_size, kLeastFileSize));
  QUARRY_TRY(at_least("highwatermark", o.high_watermark.value_or(1), 1));
  QUARRY_TRY(at_least("fulldelaymark", o.full_delay_mark.value_or(1), 1));
  QUARRY_TRY(at_least("lightdelaymark", o.light_delay_mark.value_or(1), 1));
  QUARRY_TRY(at_least("discardmark", o.discard_mark.value_or(1), 1));
  QUARRY_TRY(
      at_least("workerthreadminimummessages", o.worker_thread_minimum_messages.value_or(1), 1));
  if (o.discard_severity <= 8) return {};
  return fail(ErrorCode::kInvalid,
              fmt::format("queue.discardseverity ({}) must be 0 to 8", o.discard_severity));
}

}  // namespace

std::size_t most_content(const QueueOptions& options) {
  constexpr std::size_t kAround = kSegmentHeader + kRecordHeader;
  const std::uint64_t room = options.max_disk_space;
  if (options.filename.empty() || room == 0) return kMostContent;
  return room < kAround
             ? 0
             : static_cast<std::size_t>(std::min<std::uint64_t>(kMostContent, room - kAround));
}

std::span<const Parameter> parameters() {
  return kParameters;
}

Result<void> set_parameter(QueueOptions& o, std::string_view name, std::string_view text) {
  const auto count = [&](auto& target, std::int64_t least, std::int64_t most = kMostMessages) {
    return set_count(name, text, target, least, most);
  };
  if (name == "type") return set_type(text, o.type);
  if (name == "size") return count(o.size, 1);
  if (name == "highwatermark") return count(o.high_watermark, 1);
  if (name == "lowwatermark") return count(o.low_watermark, 0);
  if (name == "fulldelaymark") return count(o.full_delay_mark, 1);
  if (name == "lightdelaymark") return count(o.light_delay_mark, 1);
  if (name == "discardmark") return count(o.discard_mark, 1);
  if (name == "discardseverity") {
    std::size_t severity = 0;
    QUARRY_TRY(count(severity, 0, 8));
    o.discard_severity = static_cast<std::uint8_t>(severity);
    return {};
  }
  if (name == "maxfilesize") return set_bytes(name, text, o.max_file_size, kLeastFileSize);
  if (name == "maxdiskspace") return set_bytes(name, text, o.max_disk_space, 0);
  if (name == "checkpointinterval") return count(o.checkpoint_interval, 0);
  if (name == "syncqueuefiles") return set_switch(name, text, o.sync_queue_files);
  if (name == "saveonshutdown") return set_switch(name, text, o.save_on_shutdown);
  if (name == "workerthreads") return count(o.worker_threads, 1, 256);
  if (name == "workerthreadminimummessages") return count(o.worker_thread_minimum_messages, 1);
  if (name == "dequeuebatchsize") return count(o.dequeue_batch_size, 1, 1'000'000);
  if (name == "dequeueslowdown") {
    std::size_t micros = 0;
    QUARRY_TRY(count(micros, 0));
    o.dequeue_slowdown = std::chrono::microseconds(micros);
    return {};
  }
  if (name == "timeoutenqueue") return set_time(name, text, o.timeout_enqueue, 0);
  if (name == "timeoutshutdown") return set_time(name, text, o.timeout_shutdown, 0);
  if (name == "timeoutactioncompletion")
    return set_time(name, text, o.timeout_action_completion, 0);
  if (name == "timeoutworkerthreadshutdown") {
    return set_time(name, text, o.timeout_worker_thread_shutdown, -1);
  }
  return fail(ErrorCode::kNotFound, fmt::format("there is no parameter queue.{}", name));
}

Result<QueueOptions> complete(QueueOptions o) {
  QUARRY_TRY(check_ranges(o));
  const auto part = [&o](std::size_t percent) {
    return std::max<std::size_t>(o.size * percent / 100, 1);
  };
  if (!o.high_watermark) o.high_watermark = part(90);
  if (!o.low_watermark) o.low_watermark = std::min(o.size * 70 / 100, *o.high_watermark - 1);
  if (!o.full_delay_mark) o.full_delay_mark = std::max(part(97), *o.high_watermark);
  if (!o.light_delay_mark) o.light_delay_mark = part(70);
  if (!o.discard_mark) o.discard_mark = part(80);
  if (!o.worker_thread_minimum_messages) {
    o.worker_thread_minimum_messages = std::max<std::size_t>(o.size / o.worker_threads, 1);
  }
  const auto above = [](std::string_view name, std::size_t value, std::string_view limit,
                        std::size_t most) {
    return fail(ErrorCode::kInvalid, fmt::format("queue.{} ({}) must not be above queue.{} ({})",
                                                 name, value, limit, most));
  };
  if (*o.high_watermark > o.size) return above("highwatermark", *o.high_watermark, "size", o.size);
  if (*o.low_watermark >= *o.high_watermark) {
    return fail(ErrorCode::kInvalid,
                fmt::format("queue.lowwatermark ({}) must be below queue.highwatermark ({})",
                            *o.low_watermark, *o.high_watermark));
  }
  if (*o.full_delay_mark > o.size) {
    return above("fulldelaymark", *o.full_delay_mark, "size", o.size);
  }
  if (o.is_disk_assisted() && *o.full_delay_mark < *o.high_watermark) {
    // Who waits there would never let the queue become full enough for the disk.
    return above("highwatermark", *o.high_watermark, "fulldelaymark", *o.full_delay_mark);
  }
  if (*o.light_delay_mark > o.size) {
    return above("lightdelaymark", *o.light_delay_mark, "size", o.size);
  }
  if (*o.discard_mark > o.size) return above("discardmark", *o.discard_mark, "size", o.size);
  if (o.max_disk_space != 0 && o.max_disk_space < o.max_file_size) {
    return fail(ErrorCode::kInvalid, "queue.maxdiskspace must not be below queue.maxfilesize");
  }
  if (o.type == QueueType::kDisk && o.filename.empty()) {
    return fail(ErrorCode::kInvalid, "a disk queue needs queue.filename");
  }
  if (!o.filename.empty() && o.spool_directory.empty()) {
    return fail(ErrorCode::kInvalid, "queue.filename needs queue.spooldirectory");
  }
  if (o.filename.find('/') != std::string::npos) {
    return fail(ErrorCode::kInvalid, "queue.filename must be a name without a folder");
  }
  return o;
}

}  // namespace quarry::spool
